import { z } from "zod/v4";
import type { ResumeOptions } from "../client/options/call-options.ts";
import { ImggenFailure } from "../client/report-json.ts";
import type { TaskSuccess } from "../client/results.ts";
import type { Call, Job } from "./session-jobs.ts";
import type { Toolbox } from "./tool.ts";
import { type Answer, nextCall, taskAnswer } from "./tool-answer.ts";

/** Default wait, below the minute after which many clients give a call up. */
const DEFAULT_WAIT_SECONDS = 45;
const LONGEST_WAIT_SECONDS = 600;

/** How long a call waits before it answers that the task is still running. */
export const WAIT_SCHEMA = {
  waitSeconds: z
    .int()
    .min(0)
    .max(LONGEST_WAIT_SECONDS)
    .default(DEFAULT_WAIT_SECONDS)
    .describe("How long to wait for the image before answering with the task's id."),
};

/** How long polling may take in a call, milliseconds: its last poll is over by the time that the call has to answer. */
export function pollingMs(waitSeconds: number): number {
  return Math.max(waitSeconds - 1, 0.5) * 1000;
}

/** Finishes a task. @throws ImggenFailure where its images are not all saved then */
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

/** The result of a job; where it takes longer, its id and the next call. @throws what the job throws */
export async function jobAnswer(
  job: Job,
  waitSeconds: number,
  call: Call,
  { clock }: Pick<Toolbox, "clock">,
): Promise<Answer> {
  const leave = job.join(call);
  const waiting = new AbortController();
  const timeUp = clock.sleep(waitSeconds * 1000, AbortSignal.any([call.signal, waiting.signal]));
  try {
    const ended = await Promise.race([job.result, timeUp]);
    return ended ? taskAnswer(ended) : underWay(job);
  } finally {
    waiting.abort();
    leave();
  }
}

function underWay({ taskId }: Job): Answer {
  if (taskId !== null)
    return {
      result: { ok: true, status: "running", taskId, charged: "yes", files: [], next: nextCall(taskId) },
    };
  const next = "Call generate_image with the same arguments: it joins this request and is not charged again.";
  return { result: { ok: true, status: "submitting", taskId, charged: "unknown", files: [], next } };
}
