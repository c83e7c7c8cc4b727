import type { Clock } from "../../lib/clock.ts";
import { isPresent, removeOldFiles } from "../../lib/durable.ts";
import { UsageError } from "../../lib/error-types.ts";
import { parseSince } from "../../lib/local-time.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import { mayBeCharged } from "../../store/ledger-files.ts";
import { idTime, parseTaskName } from "../../store/ledger-name.ts";
import { withStateFolderErrors } from "../../store/store-errors.ts";
import { SANDBOX_SERVICE } from "../../task/intent.ts";
import { displayId, isUnknown, STATES, type Task } from "../../task/task.ts";
import { findNamed } from "../engine/named-tasks.ts";

/** Period in which a client of `imggen serve` can repeat a request and get the same task, in milliseconds. */
const MIN_SERVED_AGE_MS = 7 * 24 * 3_600_000;

/** Ledger ids of tasks whose records can be removed. `skipped`: number of tasks whose records cannot be removed. */
export interface Forgettable {
  ids: string[];
  skipped: number;
}

export interface ForgetResult {
  forgotten: number;
  skipped: number;
}

interface ForgetDeps {
  ledger: Ledger;
  clock: Pick<Clock, "now">;
}

interface RemoveDeps extends ForgetDeps {
  signal: AbortSignal;
  /** Folders with private copies of reference images and workflows. Several tasks can share a copy. */
  copyFolders: readonly string[];
}

/** Minimum age of a shared copy for its removal, because a newer copy might belong to a task that has not begun yet. */
const MIN_COPY_AGE_MS = 24 * 3_600_000;

/** Name of a private copy or of its temporary file. The name contains the digest of the copy. */
const COPY_NAME = /^\.?([\da-f]{64})\./;

/** @throws UsageError if at least one of the tasks cannot be forgotten */
export async function findForgettable(
  ids: readonly string[],
  { ledger, clock }: ForgetDeps,
): Promise<Forgettable> {
  const namedTasks = await findNamed(ids, ledger);
  const tasks = namedTasks.map(({ id, record }) => {
    if (record === null)
      throw refusedError(
        `The ledger has no task ${JSON.stringify(id)}.`,
        phrase`To see the tasks of this machine: ${action("history")}`,
      );
    const why = keepReason(record, clock.now());
    if (why !== null)
      throw refusedError(`Task ${displayId(record)} cannot be forgotten: ${why.text}.`, why.next);
    return record;
  });
  return { ids: tasks.map(({ id }) => id), skipped: 0 };
}

/** Returns tasks that were begun before a time, only of the sandbox or only of other services. @throws UsageError */
export async function findOlderForgettable(
  before: string,
  isSandbox: boolean,
  { ledger, clock }: ForgetDeps,
): Promise<Forgettable> {
  const beforeMs = parseSince(before.trim(), clock.now());
  if (beforeMs === null)
    throw refusedError(
      `--before ${JSON.stringify(before)} is neither a date nor an age.`,
      "Use a date such as 2026-01-31, or an age such as 30d or 2w.",
    );
  const forgettable: Forgettable = { ids: [], skipped: 0 };
  const endId = idTime(beforeMs);
  for await (const entry of ledger.entries((name) => (parseTaskName(name) ?? name) < endId)) {
    if (entry.kind !== "task" || entry.task.id >= endId) continue;
    if ((entry.task.intent.service.baseUrl === SANDBOX_SERVICE) !== isSandbox) continue;
    if (keepReason(entry.task, clock.now()) === null) forgettable.ids.push(entry.task.id);
    else forgettable.skipped += 1;
  }
  return forgettable;
}

/** Removes the records of tasks that can still be forgotten, and shared copies that no record uses any longer. */
export async function forget({ ids, skipped }: Forgettable, deps: RemoveDeps): Promise<ForgetResult> {
  const { ledger, clock, signal } = deps;
  let forgotten = 0;
  for (const id of ids) {
    signal.throwIfAborted();
    if (await ledger.forget(id, (task) => keepReason(task, clock.now()) === null)) forgotten += 1;
  }
  await removeSharedCopies(deps);
  return { forgotten, skipped: skipped + ids.length - forgotten };
}

/** If the process is killed during the removal, the next `forget` removes the remaining copies. */
async function removeSharedCopies({ ledger, clock, copyFolders }: RemoveDeps): Promise<void> {
  const beforeMs = clock.now() - MIN_COPY_AGE_MS;
  let copiesInUse: Promise<Set<string> | null> | undefined;
  for (const folder of copyFolders)
    await withStateFolderErrors(folder, "The records were removed.", async () => {
      if (!isPresent(folder)) return;
      copiesInUse ??= findCopiesInUse(ledger);
      const digests = await copiesInUse;
      if (digests === null) return;
      removeOldFiles(
        folder,
        beforeMs,
        (name) => digests.has(COPY_NAME.exec(name)?.[1] ?? "") || !COPY_NAME.test(name),
      );
    });
}

/**
 * Returns the digests of the copies in use, or null if they cannot be determined. They are unknown if a record cannot
 * be read, or if a process works on a task, because its batch might need copies for tasks that have not begun yet.
 */
async function findCopiesInUse(ledger: Ledger): Promise<Set<string> | null> {
  const digests = new Set<string>();
  for await (const entry of ledger.tasksNewestFirst()) {
    if (entry.kind !== "task") {
      if (mayBeCharged(entry)) return null;
      continue;
    }
    const { task } = entry;
    if (STATES[task.state].isOpen && ledger.isClaimed(task)) return null;
    const { request, options } = task.intent;
    for (const url of [request.image ?? [], options.workflow ?? []].flat())
      digests.add(url.slice(url.lastIndexOf("/") + 1).split(".", 1)[0] ?? "");
  }
  return digests;
}

function refusedError(message: string, next: string | ReturnType<typeof phrase>): UsageError {
  return new UsageError(message, { hint: ["Nothing was removed.", next] });
}

function keepReason(task: Task, nowMs: number) {
  const { state, intent, submittedAt, id } = task;
  if (isUnknown(task))
    return { text: "its outcome is unknown", next: phrase`To stop tracking it: ${action("dismiss", id)}` };
  if (STATES[state].isOpen)
    return { text: "it is not finished", next: phrase`To finish it: ${action("resume", displayId(task))}` };
  if (intent.server !== undefined && nowMs - Date.parse(submittedAt) < MIN_SERVED_AGE_MS)
    return { text: "imggen serve began it less than 7 days ago", next: "Its client might still request it." };
  return null;
}
