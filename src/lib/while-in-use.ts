import { platform } from "node:os";
import { errorCode } from "./error-code.ts";

/** Errors of a rename or an unlink on Windows while a virus scanner or an indexer has the file open. */
const IN_USE: ReadonlySet<string> = new Set(["EPERM", "EBUSY", "EACCES"]);

const PATIENCE_MS = 2_000;
const FIRST_PAUSE_MS = 10;
const LONGEST_PAUSE_MS = 200;

/**
 * Renames or removes a file. On Windows this is retried for up to 2 s while the file may be in use; other systems rename
 * and remove open files, so there the first error is final.
 * @param patienceMs how long it is retried, in milliseconds
 * @throws the error of the last attempt
 */
export async function whileInUse<Result>(
  change: () => Result | Promise<Result>,
  onPlatform: NodeJS.Platform = platform(),
  patienceMs = PATIENCE_MS,
): Promise<Result> {
  const pauses = pausesOn(onPlatform, patienceMs);
  for (;;) {
    try {
      return await change();
    } catch (error) {
      const pauseMs = pauses(error);
      if (pauseMs === null) throw error;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
}

/** As `whileInUse`, synchronously. */
export function whileInUseSync<Result>(
  change: () => Result,
  onPlatform: NodeJS.Platform = platform(),
  patienceMs = PATIENCE_MS,
): Result {
  const pauses = pausesOn(onPlatform, patienceMs);
  for (;;) {
    try {
      return change();
    } catch (error) {
      const pauseMs = pauses(error);
      if (pauseMs === null) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, pauseMs);
    }
  }
}

/** How long to wait after an error, milliseconds; null if another attempt is pointless. */
function pausesOn(onPlatform: NodeJS.Platform, patienceMs: number): (error: unknown) => number | null {
  const end = performance.now() + patienceMs;
  let pauseMs = FIRST_PAUSE_MS;
  return (error) => {
    const left = end - performance.now();
    if (onPlatform !== "win32" || !IN_USE.has(errorCode(error) ?? "") || left <= 0) return null;
    const now = Math.min(pauseMs, left);
    pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    return now;
  };
}
