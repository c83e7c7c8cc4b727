import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The folders whose tests take longest: if they started last, all workers but one would wait for them. */
const LONGEST = ["/test/crash/", "/test/e2e/readme.test.ts", "/test/faults/", "/test/e2e/"];

/** Begins the longest tests first, whether or not an earlier run has shown which they are. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const at = LONGEST.findIndex((part) => moduleId.includes(part));
  return at === -1 ? LONGEST.length : at;
}
