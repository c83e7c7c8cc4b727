import { isoTime } from "../../lib/clock.ts";
import { makeFolder } from "../../lib/durable.ts";
import type { ImggenError } from "../../lib/error-types.ts";
import { keepResult } from "../../providers/kept-result.ts";
import { StateFolderError } from "../../store/store-errors.ts";
import type { TaskState } from "../../task/lifecycle.ts";
import { type TaskRecord, withEvent, workOf } from "../../task/record.ts";
import { providerName, type TaskDeps } from "../deps.ts";
import { interruptedError, PendingError } from "../errors.ts";
import {
  type EndedState,
  pollOnce,
  type WaitResult,
  type WaitSettings,
  waitForTask,
} from "../polling/wait.ts";
import { askToStop } from "./ask-to-stop.ts";
import { unlessCancelled } from "./obey-cancel.ts";
import type { ProgressFacts } from "./progress-events.ts";
import { endEvent } from "./record-end.ts";
import type { TaskWriter } from "./task-writer.ts";

/**
 * Waits for the requests of a task that its provider has accepted, together, and records how each ends.
 * @param onWarning is called with what the provider says about their images
 * @returns why they are not waited for any longer; null where all have ended
 */
export async function awaitAccepted(
  writer: TaskWriter,
  { timeoutMs, schedule }: WaitSettings,
  deps: TaskDeps,
  onWarning: (message: string) => void = () => {},
): Promise<ImggenError | null> {
  const { taskId, requestMs } = workOf(writer.record);
  const waiting = acceptedIn(writer.record).map(async ({ state, index }) => {
    const { request } = writer.record.intent;
    const acceptedMs = Date.parse(state.acceptedAt);
    const usualMs = schedule ? null : await deps.schedules.usualMs(request);
    deps.onProgress({ type: "waiting", taskId, usualMs });
    // Users know the task by our id: the provider's may be a whole address.
    const onProgress: TaskDeps["onProgress"] = (event) =>
      deps.onProgress("taskId" in event ? { ...event, taskId } : event);
    const options = {
      schedule: schedule ?? (await deps.schedules.of(request)),
      timeoutMs: timeoutMs ?? requestMs,
      ageMs: deps.clock.now() - acceptedMs,
      pollAtOnce: false,
    };
    const unlist = listed(taskId, state.taskId, deps);
    const followed = { ...deps, onProgress };
    const waitWith = (within: AbortSignal) =>
      whileFollowed(state.taskId, { ...followed, signal: within }, (at) =>
        waitForTask(state.taskId, options, at),
      );
    const { result, isCancelled } = await unlessCancelled(writer, index, deps, waitWith);
    const isAsked = isCancelled && result.outcome === "interrupted" && !deps.signal.aborted;
    if (isAsked && (await askToStop(writer, index, deps)) === null) {
      unlist();
      return null;
    }
    // Its provider has not stopped it.
    const waited = isAsked ? await waitWith(deps.signal) : result;
    // After a signal it may still be asked to stop.
    if (waited.outcome !== "interrupted") unlist();
    const { task } = waited.outcome === "ended" ? waited : { task: null };
    for (const warning of task?.status === "completed" ? (task.warnings ?? []) : []) onWarning(warning);
    return recordWait(writer, index, waited, deps);
  });
  const stops = await Promise.all(waiting);
  return stops.find((stop) => stop !== null) ?? null;
}

/** Does work, and meanwhile has the provider say how far a task is. @param work says how many others are before it */
async function whileFollowed<Result>(
  taskId: string,
  deps: TaskDeps,
  work: (deps: TaskDeps & { onAhead: (ahead: number) => void; ended: Promise<void> }) => Promise<Result>,
): Promise<Result> {
  const { provider, serviceUrl } = deps.connection;
  const over = new AbortController();
  const signal = AbortSignal.any([deps.signal, over.signal]);
  const say = (facts: ProgressFacts) => deps.onProgress({ type: "progress", taskId, ...facts });
  const onAhead = (ahead: number) => say({ share: null, waiting: { ahead, holder: serviceUrl.host } });
  const onProgress = (share: number) => say({ share, waiting: null });
  const following = provider.follow?.(taskId, { signal, onProgress, onPreview: deps.onPreview });
  const ended = new Promise<void>((resolve) => {
    void following?.then((hasEnded) => hasEnded && resolve());
  });
  try {
    return await work({ ...deps, onAhead, ended });
  } finally {
    over.abort();
    await following;
  }
}

/** Lists a request among those that can be asked to stop. @returns takes it off the list */
function listed(taskId: string, providersId: string, { accepted, connection }: TaskDeps): () => void {
  const task = { taskId, name: providerName(connection) };
  return accepted?.add(task, providersId, connection.provider) ?? (() => {});
}

type Accepted = Extract<TaskState, { name: "accepted" }>;

function acceptedIn({ requests }: TaskRecord): { state: Accepted; index: number }[] {
  return requests.flatMap((state, index) => (state.name === "accepted" ? [{ state, index }] : []));
}

async function recordWait(
  writer: TaskWriter,
  request: number,
  waited: WaitResult,
  deps: TaskDeps,
): Promise<ImggenError | null> {
  switch (waited.outcome) {
    case "ended": {
      const { task } = waited;
      const unkept = await keepUnread(writer, request, task, deps);
      if (unkept !== null) return unkept;
      await writer.write(endEvent(task, request, isoTime(deps.clock.now()), waited));
      if (task.status === "completed") await deps.schedules.learn(writer.record.intent.request, waited);
      return null;
    }
    case "refused":
      return waited.error;
    case "interrupted":
      return interruptedError(deps.signal, writer.charged);
    case "timeout":
      return stillRunning(writer, waited.lastFailure?.why ?? null, deps);
  }
}

/** Keeps a result that is not at URLs alone, before its task is recorded as finished. @returns why that cannot be done */
async function keepUnread(
  { id, charged }: TaskWriter,
  request: number,
  task: EndedState,
  { ledger: { work } }: TaskDeps,
): Promise<ImggenError | null> {
  if (task.status !== "completed" || !("unread" in task)) return null;
  const folder = work.of(id, request);
  try {
    await makeFolder(folder, 0o700);
    await keepResult({ folder }, task.unread);
    return null;
  } catch (error) {
    return new StateFolderError(work.folder, error, { charged });
  }
}

function stillRunning(writer: TaskWriter, why: string | null, { connection }: TaskDeps): PendingError {
  const { taskId } = workOf(writer.record);
  const name = providerName(connection);
  const seen = why === null ? "still running" : `not seen to finish: ${why}`;
  return new PendingError(`Task ${taskId} is accepted by ${name}, ${seen}.`, { charged: writer.charged });
}

/** A task as one poll of each of its accepted requests shows it. Nothing is recorded. @throws what a poll is refused with */
export async function polledRecord(record: TaskRecord, deps: TaskDeps): Promise<TaskRecord> {
  const at = isoTime(deps.clock.now());
  let polled = record;
  for (const { state, index } of acceptedIn(record)) {
    const reply = await pollOnce(state.taskId, undefined, deps);
    if (reply.outcome === "refused") throw reply.error;
    if (reply.outcome === "retry" || reply.task.status === "running") continue;
    polled = withEvent(polled, endEvent(reply.task, index, at));
  }
  return polled;
}
