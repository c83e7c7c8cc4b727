import type { ResumeOptions } from "../client/options/call-options.ts";
import { noFlag, type Options } from "../client/options/option.ts";
import { ImggenFailure } from "../client/report-json.ts";
import type { TaskSuccess } from "../client/results.ts";
import { getCharged, getTaskId } from "../task/task.ts";
import type { Call, Job } from "./session-jobs.ts";
import type { Toolbox } from "./tool.ts";
import { type Answer, nextCall, taskAnswer } from "./tool-answer.ts";

/** Default wait, below the minute after which many clients give a call up. */
const DEFAULT_WAIT_SECONDS = 45;

/** Wait before the answer that a task is still running. */
export const WAIT = {
  waitSeconds: noFlag("whole", {
    agents: "How long to wait for the image before answering with the task's id.",
    max: 600,
    default: DEFAULT_WAIT_SECONDS,
  }),
} satisfies Options;

/** Polling time in a call, in milliseconds: shorter than the wait, so that the last poll ends in time. */
export function pollingMs(waitSeconds: number): number {
  return Math.max(waitSeconds - 1, 0.5) * 1000;
}

/** Finishes a task. @throws ImggenFailure if an image is not saved */
export async function resumedTask(
  taskId: string,
  call: Call,
  { client }: Pick<Toolbox, "client">,
  options: ResumeOptions = {},
): Promise<TaskSuccess> {
  const [task] = (await client.resume([taskId], { ...options, ...call })).tasks;
  if (task === undefined) throw new Error(`no result for task ${taskId}`);
  if (task.ok) return task;
  throw new ImggenFailure(task);
}

/** Minimum wait for a task to be queued, in milliseconds: a service may take long to give it an id. */
const QUEUE_MS = 30_000;

type Waiting = Pick<Toolbox, "clock" | "findTask">;

/** The result of a job; if it takes longer, its id and the next call. @throws the job's error */
export async function jobAnswer(
  job: Job,
  waitSeconds: number,
  call: Call,
  toolbox: Waiting,
): Promise<Answer> {
  const leave = job.join(call);
  try {
    const outcome =
      (await within(waitSeconds * 1000, job.result, call, toolbox)) ??
      (await queued(job, QUEUE_MS - waitSeconds * 1000, call, toolbox));
    return outcome ? taskAnswer(outcome) : await unfinished(job, toolbox);
  } finally {
    leave();
  }
}

/** Resolves once a job's task is queued, or its time is up; or with the result of the job. @throws what the job throws */
function queued(job: Job, ms: number, call: Call, toolbox: Waiting): Promise<TaskSuccess | undefined> {
  return within(Math.max(0, ms), Promise.race([job.result, job.queued]), call, toolbox);
}

/** Resolves once each task of some jobs is queued, or has ended, or its time is up. */
export async function allQueued(jobs: readonly Job[], call: Call, toolbox: Waiting): Promise<void> {
  await Promise.allSettled(jobs.map((job) => queued(job, QUEUE_MS, call, toolbox)));
}

/** @returns undefined if the time is up before @throws the reason of a call that is cancelled */
async function within(
  ms: number,
  result: Promise<TaskSuccess | undefined>,
  call: Call,
  { clock }: Waiting,
): Promise<TaskSuccess | undefined> {
  const over = new AbortController();
  const timeUp = clock.sleep(ms, AbortSignal.any([call.signal, over.signal]));
  const outcome = await Promise.race([result, timeUp]).finally(() => over.abort());
  return outcome ?? undefined;
}

/** The answer about a job that still runs, from its task in the ledger. */
async function unfinished({ recordId }: Job, { findTask }: Waiting): Promise<Answer> {
  const task = recordId === null ? null : await findTask(recordId);
  const taskId = task === null ? recordId : getTaskId(task);
  const charged = task === null ? "unknown" : getCharged(task);
  const files: object[] = [];
  if (taskId !== null)
    return { result: { ok: true, status: "running", taskId, charged, files, next: nextCall(taskId) } };
  const next = "Call generate_image with the same arguments: it joins this request and is not charged again.";
  return { result: { ok: true, status: "submitting", taskId, charged, files, next } };
}
