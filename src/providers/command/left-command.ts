import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { isPresent } from "../../lib/durable.ts";
import { inspectFileAt } from "../../lib/image/inspect.ts";
import { jsonOrNull } from "../../lib/json.ts";
import {
  identityIn,
  identityOf,
  type ProcessIdentity,
  signalGroup,
  systemProcesses,
} from "../../lib/processes.ts";
import { type Job, ProviderError, type SubmitReply, TimeLimitError } from "../provider.ts";
import { clearScratch, hasImage, keepImage, removeScratch, scratchOf, writtenFile } from "./scratch.ts";

// A command whose imggen was killed: it may run on, or have ended meanwhile.

/** Names a command's process, in its scratch folder. */
const PROCESS_FILE = ".process";

const CHECK_EVERY_MS = 200;
/** How long a command has to end by itself once it is given up. */
export const GRACE_MS = 5_000;

/** Notes the process of a command, so that it can be found where this process is killed and it runs on. Never throws. */
export function noteProcess(scratch: string, pid: number): void {
  const identity = identityOf(pid);
  if (identity === null) return;
  try {
    writeFileSync(path.join(scratch, PROCESS_FILE), JSON.stringify(identity), { mode: 0o600 });
  } catch {
    // It runs already: only its process, after a crash, will not be known.
  }
}

/**
 * What came of a command that a killed process has left. One that is paid for is waited for until the signal; a free one
 * is killed, for it can be run again. Its exit code is lost: an image that is whole counts.
 * @returns null if nothing is known of it @throws ProviderError (lost)
 */
export async function recoverCommand(
  job: Job,
  signal: AbortSignal,
  clock: Pick<Clock, "sleep">,
): Promise<SubmitReply | null> {
  const made = { outcome: "made", usage: null } as const;
  if (hasImage(job)) return made;
  const scratch = scratchOf(job);
  if (!isPresent(scratch)) return null;
  const left = noted(path.join(scratch, PROCESS_FILE));
  const isKilled = left !== null && !job.isPaid && isRunning(left);
  if (isKilled) signalGroup(left.pid, "SIGKILL");
  else if (left !== null && !(await hasEnded(left, signal, clock)))
    throw lost("The command still runs", { kept: scratch, isStopped: false });
  const written = isKilled ? null : await writtenFile(scratch);
  const isImage = written !== null && inspectFileAt(written).ok;
  if (isImage) await keepImage(written, job);
  if (isImage) await clearScratch(job);
  else if (!job.isPaid) await removeScratch(scratch);
  if (isImage) return made;
  if (!job.isPaid || left === null) return null;
  throw lost("The command has ended, and left no whole image", { kept: scratch, isStopped: true });
}

/** Whether a command runs on that a killed process has left. */
export function isCommandRunning(job: Job): boolean {
  const left = noted(path.join(scratchOf(job), PROCESS_FILE));
  return left !== null && isRunning(left);
}

function lost(what: string, facts: { kept: string; isStopped: boolean }): ProviderError {
  return new ProviderError(`${what}.`, { kind: "lost", ...facts });
}

function isRunning(left: ProcessIdentity): boolean {
  // The group of process 1 would be every process: no note of ours names it.
  return left.pid > 1 && systemProcesses().isAlive(left) === true;
}

/** Waits for a process, until the signal. At its time limit it is ended. @returns whether it has ended */
async function hasEnded(
  left: ProcessIdentity,
  signal: AbortSignal,
  clock: Pick<Clock, "sleep">,
): Promise<boolean> {
  while (isRunning(left) && !signal.aborted) await clock.sleep(CHECK_EVERY_MS, signal).catch(() => {});
  if (!isRunning(left)) return true;
  if (!(signal.reason instanceof TimeLimitError)) return false;
  for (const kind of ["SIGTERM", "SIGKILL"] as const) {
    signalGroup(left.pid, kind);
    for (let waitedMs = 0; waitedMs < GRACE_MS && isRunning(left); waitedMs += CHECK_EVERY_MS)
      await clock.sleep(CHECK_EVERY_MS);
  }
  return !isRunning(left);
}

/** null if there is none, or a crash cut it short. */
function noted(file: string): ProcessIdentity | null {
  try {
    return identityIn(jsonOrNull(readFileSync(file, "utf8")));
  } catch {
    return null;
  }
}
