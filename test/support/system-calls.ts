import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

type Calls = Pick<typeof fs, "writeSync" | "readSync" | "writev" | "fsync">;

/** Puts another in the place of one of Node's file calls until the test's end: a disk with a will of its own. */
export function replaceCall<Name extends keyof Calls>(
  name: Name,
  make: (original: Calls[Name]) => unknown,
): void {
  const original = fs[name];
  const put = (call: unknown) => {
    Object.assign(fs, { [name]: call });
    syncBuiltinESMExports();
  };
  put(make(original));
  onTestFinished(() => put(original));
}
