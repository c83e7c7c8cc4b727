import { z } from "zod/v4";
import { type Answer, PREVIEW_SCHEMA, taskAnswer, withPreviews } from "../answer.ts";
import type { Call } from "../jobs.ts";
import { type Toolbox, tool } from "../tool.ts";
import { jobAnswer, resumedTask, WAIT_SCHEMA } from "../wait.ts";

export const getTask = tool({
  name: "get_task",
  title: "Get a task",
  description:
    "Waits for a task by its id, saves its image if it is not saved yet, and returns its path. Costs nothing. With waitSeconds 0 it asks the service once and saves nothing.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  input: z.strictObject({
    taskId: z.string().min(6).describe("The id of a task, or 6 or more of its first characters."),
    ...WAIT_SCHEMA,
    ...PREVIEW_SCHEMA,
  }),
  async run({ taskId, waitSeconds, preview }, call, toolbox) {
    return withPreviews(await answerFor(taskId, waitSeconds, call, toolbox), preview);
  },
});

async function answerFor(taskId: string, waitSeconds: number, call: Call, toolbox: Toolbox): Promise<Answer> {
  const { client, jobs, findTask, output } = toolbox;
  const record = await findTask(taskId);
  const whole = record !== null && "taskId" in record.state ? record.state.taskId : taskId;
  const job = jobs.ofTask(whole);
  if (job) return jobAnswer(job, waitSeconds, call, toolbox);
  if (waitSeconds === 0) return taskAnswer(await client.status(taskId, call));
  // Its last poll is over by the time that the call has to answer.
  const timeoutMs = (waitSeconds - 1) * 1000;
  // Where it goes is known of a task that the ledger has.
  const options = record === null ? { timeoutMs, output: `${output}/` } : { timeoutMs };
  const resuming = jobs.start(
    JSON.stringify(whole),
    (shared) => resumedTask(taskId, shared, toolbox, options),
    whole,
  );
  return jobAnswer(resuming, waitSeconds, call, toolbox);
}
