import { z } from "zod/v4";
import { type Answer, failureAnswer, taskAnswer } from "../answer.ts";
import type { Call, Job } from "../jobs.ts";
import { type Toolbox, tool } from "../tool.ts";
import { jobAnswer, WAIT_SCHEMA } from "../wait.ts";

export const resumeTasks = tool({
  name: "resume_tasks",
  title: "Resume tasks",
  description:
    "Finishes every task that was charged and is not saved, from this session or before it, and saves their images. Costs nothing.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({ ...WAIT_SCHEMA }),
  async run({ waitSeconds }, call, toolbox) {
    // What a cancelled call has left is a task as any other.
    await toolbox.jobs.stopped();
    const jobs = toolbox.jobs.all;
    const [own, { ok, tasks, ...more }] = await Promise.all([
      Promise.all(jobs.map(async (job) => ({ job, answer: await endOf(job, waitSeconds, call, toolbox) }))),
      toolbox.client.resume([], { ...call, timeoutMs: Math.max(waitSeconds, 1) * 1000 }),
    ]);
    // The session's own unfinished jobs have claimed their tasks, so resume has found them claimed; unless one failed
    // meanwhile, and resume has saved its task then.
    const saved = new Set(tasks.filter(({ ok }) => ok).map(({ taskId }) => taskId));
    const told = own.filter(({ job, answer }) => !(answer.isError && saved.has(job.taskId)));
    const mine = new Set(told.map(({ job }) => job.taskId));
    const others = tasks.filter(({ taskId }) => !mine.has(taskId)).map(taskAnswer);
    const all = [...told.map(({ answer }) => answer), ...others];
    const failed = all.some(({ isError }) => isError);
    return {
      result: {
        ok: !failed && more.unreadable === undefined,
        tasks: all.map(({ result }) => result),
        ...more,
      },
    };
  },
});

function endOf(job: Job, waitSeconds: number, call: Call, toolbox: Toolbox): Promise<Answer> {
  return jobAnswer(job, waitSeconds, call, toolbox).catch(failureAnswer);
}
