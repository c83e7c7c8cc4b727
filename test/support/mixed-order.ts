import { BaseSequencer, type TestSpecification } from "vitest/node";

/** How many other files follow each of the longest. */
const BETWEEN = 3;

/**
 * Begins the longest test files early, but not all at once: most of their time is waiting, and at the beginning all
 * workers would wait.
 */
export class MixedOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    // One file in five is among the longest, and one in five comes after the last of them: short ones, for the end.
    const longest = sorted.slice(0, sorted.length / (BETWEEN + 2));
    const others = sorted.slice(longest.length);
    const first = longest.flatMap((file, i) => [file, ...others.slice(i * BETWEEN, (i + 1) * BETWEEN)]);
    return [...first, ...others.slice(longest.length * BETWEEN)];
  }
}
