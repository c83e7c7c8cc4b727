import type { ResumeOptions } from "../client/options/call-options.ts";
import { noFlag, type Options } from "../client/options/option.ts";
import { ImggenFailure } from "../client/report-json.ts";
import type { TaskSuccess } from "../client/results.ts";
import { getCharged, getTaskId } from "../task/task.ts";
import type { Call, Job } from "./session-jobs.ts";
import type { Toolbox } from "./tool.ts";
import { type Answer, nextCallAdvice, taskAnswer } from "./tool-answer.ts";

/** Default wait of a call. It is shorter than a minute, because many clients abort a call after a minute. */
const DEFAULT_WAIT_SECONDS = 45;

export const WAIT_OPTIONS = {
  waitSeconds: noFlag("whole", {
    agents: "How long to wait for the image before answering with the task's id.",
    max: 600,
    default: DEFAULT_WAIT_SECONDS,
  }),
} satisfies Options;

/** Returns the polling time of a call, which is shorter than the wait, so that the last poll ends in time. */
export function pollingMs(waitSeconds: number): number {
  return Math.max(waitSeconds - 1, 0.5) * 1000;
}

/** @throws ImggenFailure if an image is not saved */
export async function resumeTask(
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

/** Minimum wait for a task to be queued, in milliseconds, because a service might take long to assign the task id. */
const QUEUE_MS = 30_000;

type WaitTools = Pick<Toolbox, "clock" | "findTask">;

/** Returns the result of a job, or the task id and the next call if the wait ends first. @throws the job's error */
export async function jobAnswer(
  job: Job,
  waitSeconds: number,
  call: Call,
  toolbox: WaitTools,
): Promise<Answer> {
  const endWait = job.join(call);
  try {
    const outcome =
      (await waitWithin(waitSeconds * 1000, job.result, call, toolbox)) ??
      (await waitUntilQueued(job, QUEUE_MS - waitSeconds * 1000, call, toolbox));
    return outcome ? taskAnswer(outcome) : await answerUnfinished(job, toolbox);
  } finally {
    endWait();
  }
}

/** Resolves when a job's task is queued, when the time is up, or with the result of the job. @throws the job's error */
function waitUntilQueued(
  job: Job,
  ms: number,
  call: Call,
  toolbox: WaitTools,
): Promise<TaskSuccess | undefined> {
  return waitWithin(Math.max(0, ms), Promise.race([job.result, job.queued]), call, toolbox);
}

export async function waitUntilAllQueued(
  jobs: readonly Job[],
  call: Call,
  toolbox: WaitTools,
): Promise<void> {
  await Promise.allSettled(jobs.map((job) => waitUntilQueued(job, QUEUE_MS, call, toolbox)));
}

/** @returns undefined if the time is up before the result @throws the abort reason of a cancelled call */
async function waitWithin(
  ms: number,
  result: Promise<TaskSuccess | undefined>,
  call: Call,
  { clock }: WaitTools,
): Promise<TaskSuccess | undefined> {
  const timerAbort = new AbortController();
  const timeUp = clock.sleep(ms, AbortSignal.any([call.signal, timerAbort.signal]));
  const outcome = await Promise.race([result, timeUp]).finally(() => timerAbort.abort());
  return outcome ?? undefined;
}

async function answerUnfinished({ recordId }: Job, { findTask }: WaitTools): Promise<Answer> {
  const task = recordId === null ? null : await findTask(recordId);
  const taskId = task === null ? recordId : getTaskId(task);
  const charged = task === null ? "unknown" : getCharged(task);
  const files: object[] = [];
  if (taskId !== null)
    return { result: { ok: true, status: "running", taskId, charged, files, next: nextCallAdvice(taskId) } };
  const nextCall =
    "Call generate_image again with the same arguments. The new call waits for this request, and is not charged again.";
  return { result: { ok: true, status: "submitting", taskId, charged, files, next: nextCall } };
}
