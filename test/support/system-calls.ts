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

/** Counts the syncs of any file from here to the test's end. @param onSync told of each, before it begins */
export function countSyncs(onSync: (count: number) => void = () => {}): () => number {
  let count = 0;
  replaceCall("fsync", (fsync) => (fd: number, callback: (error: Error | null) => void) => {
    count += 1;
    onSync(count);
    fsync(fd, callback);
  });
  return () => count;
}
