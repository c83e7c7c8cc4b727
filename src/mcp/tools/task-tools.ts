import { HISTORY_LIMIT } from "../../client/listed-tasks.ts";
import { noFlag, pick } from "../../client/options/option.ts";
import { HISTORY } from "../../client/options/task-table.ts";
import type { TaskResult } from "../../client/results.ts";
import { UsageError } from "../../lib/error-types.ts";
import { getTaskId } from "../../task/task.ts";
import { allQueued, jobAnswer, pollingMs, resumedTask, WAIT } from "../job-wait.ts";
import type { Call, Job } from "../session-jobs.ts";
import { type Toolbox, type ToolFacts, tool, withModels } from "../tool.ts";
import {
  type Answer,
  failureAnswer,
  fileSummary,
  PREVIEW,
  runningAnswer,
  taskAnswer,
  withPreviews,
} from "../tool-answer.ts";

export const getTask = tool({
  name: "get_task",
  title: "Get a task",
  description:
    "Waits for a task by its id, saves its image if it is not saved yet, and returns its path. What was sent is not charged again; a request of it that still waits is sent, and counts for the cap. With waitSeconds 0 it asks the service once, and sends and saves nothing.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  options: {
    taskId: noFlag("text", { agents: "The id of a task, or 6 or more of its first characters." }),
    ...WAIT,
    ...PREVIEW,
  },
  presentNames: ["taskId", "waitSeconds"],
  async run({ taskId, waitSeconds, preview }, call, toolbox) {
    if (taskId.length < 6)
      throw new UsageError(`taskId ${JSON.stringify(taskId)} has fewer than 6 characters.`, {
        hint: "Nothing was sent. Call history for the ids of tasks.",
      });
    return withPreviews(await answerFor(taskId, waitSeconds, call, toolbox), preview ?? toolbox.previews);
  },
});

async function answerFor(taskId: string, waitSeconds: number, call: Call, toolbox: Toolbox): Promise<Answer> {
  const { client, jobs, findTask, findOutput } = toolbox;
  const record = await findTask(taskId);
  const whole = (record && getTaskId(record)) ?? taskId;
  const job = jobs.findByTask(whole);
  if (job) return jobAnswer(job, waitSeconds, call, toolbox);
  if (waitSeconds === 0) return taskAnswer(await client.status(taskId, call));
  const timeoutMs = pollingMs(waitSeconds);
  // A task of the ledger has its own destination.
  const options = record === null ? { timeoutMs, output: `${(await findOutput()).folder}/` } : { timeoutMs };
  const resuming = jobs.start(
    JSON.stringify(whole),
    (shared) => resumedTask(taskId, shared, toolbox, options),
    whole,
  );
  return jobAnswer(resuming, waitSeconds, call, toolbox);
}

export const resumeTasks = tool({
  name: "resume_tasks",
  title: "Resume tasks",
  description:
    "Finishes every task that is not saved, from this session or before it, and saves their images. What was sent is not charged again; a request that still waits is sent, and counts for the cap.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  options: WAIT,
  presentNames: ["waitSeconds"],
  async run({ waitSeconds }, call, toolbox) {
    // Tasks of cancelled calls are resumed like others.
    await toolbox.jobs.stopped();
    const jobs = toolbox.jobs.all;
    // A queued task has an id, by which each task is reported once.
    await allQueued(jobs, call, toolbox);
    const [running, { tasks, unreadable, toAnswer }] = await Promise.all([
      Promise.all(
        jobs.map(async (job) => ({ job, answer: await jobResult(job, waitSeconds, call, toolbox) })),
      ),
      resumeWithin(waitSeconds, call, toolbox),
    ]);
    // Unfinished jobs of the session have claimed their tasks, which resume reports as claimed; but if such a job
    // failed meanwhile, resume has saved its task.
    const savedIds = new Set(tasks.filter(({ ok }) => ok).map(({ taskId }) => taskId));
    const ownAnswers = running.filter(({ job, answer }) => !(answer.isError && savedIds.has(job.taskId)));
    const ownIds = new Set(ownAnswers.map(({ job }) => job.taskId));
    const others = tasks.filter(({ taskId }) => !ownIds.has(taskId)).map(toAnswer);
    const all = [...ownAnswers.map(({ answer }) => answer), ...others];
    const failed = all.some(({ isError }) => isError);
    return {
      result: {
        ok: !failed && unreadable === undefined,
        tasks: all.map(({ result }) => result),
        ...(unreadable && { unreadable }),
      },
    };
  },
});

/** Finishes tasks within this time. An image that is still arriving then is left to another call. */
async function resumeWithin(waitSeconds: number, call: Call, { client, clock }: Toolbox) {
  const [timeUp, answered] = [new AbortController(), new AbortController()];
  clock.sleep(Math.max(waitSeconds, 1) * 1000, answered.signal).then(
    () => timeUp.abort(),
    () => {},
  );
  const signal = AbortSignal.any([call.signal, timeUp.signal]);
  try {
    const { tasks, unreadable } = await client.resume([], {
      ...call,
      signal,
      timeoutMs: pollingMs(waitSeconds),
    });
    const isTimeUp = timeUp.signal.aborted && !call.signal.aborted;
    return { tasks, unreadable, toAnswer: isTimeUp ? answerAtTimeUp : taskAnswer };
  } finally {
    answered.abort();
  }
}

/** A task that was interrupted by the end of the call is still running, not failed. */
function answerAtTimeUp(task: TaskResult): Answer {
  if (task.ok || task.error.type !== "interrupted") return taskAnswer(task);
  return runningAnswer(task, `Task ${task.taskId} is still to be saved.`);
}

function jobResult(job: Job, waitSeconds: number, call: Call, toolbox: Toolbox): Promise<Answer> {
  return jobAnswer(job, waitSeconds, call, toolbox).catch(failureAnswer);
}

export const history = (settings: ToolFacts) =>
  tool({
    name: "history",
    title: "List tasks",
    description: "Lists the tasks of this machine, newest first, with prompt, cost and file paths.",
    annotations: { readOnlyHint: true, openWorldHint: false },
    options: {
      ...pick(HISTORY, "search", "status", "since"),
      limit: { ...HISTORY.limit, max: 1000, default: HISTORY_LIMIT },
      model: withModels(HISTORY.model, settings),
    },
    presentNames: ["limit"],
    async run(filter, { signal }, { client }) {
      const { tasks, ...more } = await client.history({ ...filter, signal });
      const summaries = tasks.map((task) => ({ ...task, files: task.files.map(fileSummary) }));
      return { result: { ok: true, tasks: summaries, ...more } };
    },
  });
