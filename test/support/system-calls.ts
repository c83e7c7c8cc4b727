import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { onTestFinished } from "vitest";

type Calls = Pick<typeof fs, "writeSync" | "readSync" | "writev" | "fsync">;

/** Replaces one of Node's file functions until the end of the test, to make the disk fail or wait. */
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
