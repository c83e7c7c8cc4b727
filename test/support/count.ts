import { appendFileSync } from "node:fs";
import path from "node:path";
import { inject } from "vitest";

/** What is counted over the whole suite: runs of the program, files searched for the key, cases of a property. */
export type Counted = "runs" | "files" | "cases";

declare module "vitest" {
  interface ProvidedContext {
    /** The folder that all test files count in, each in a process of its own. */
    countsFolder: string;
  }
}

/** Adds to a counter that is printed at the end of the suite. */
export function addToCount(what: Counted, count: number): void {
  // Short appends of several processes are atomic.
  appendFileSync(path.join(inject("countsFolder"), what), `${count}\n`);
}
