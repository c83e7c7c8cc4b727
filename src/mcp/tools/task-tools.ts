import { HISTORY_LIMIT } from "../../client/listed-tasks.ts";
import { noFlag, pick } from "../../client/options/option.ts";
import { HISTORY } from "../../client/options/task-table.ts";
import type { TaskResult } from "../../client/results.ts";
import { UsageError } from "../../lib/error-types.ts";
import { getTaskId } from "../../task/task.ts";
import { jobAnswer, pollingMs, resumeTask, WAIT_OPTIONS, waitUntilAllQueued } from "../job-wait.ts";
import type { Call, Job } from "../session-jobs.ts";
import { type Toolbox, type ToolFacts, tool, withModels } from "../tool.ts";
import {
  type Answer,
  failureAnswer,
  fileSummary,
  PREVIEW_OPTIONS,
  runningAnswer,
  taskAnswer,
  withPreviews,
} from "../tool-answer.ts";

export const getTask = tool({
  name: "get_task",
  title: "Get a task",
  description:
    "Waits for a task by its id, saves its image if it is not saved yet, and returns its path. Requests that were sent are not charged again. Requests that still wait are sent, and count against the cap. With waitSeconds 0, polls once, and sends and saves nothing.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  options: {
    taskId: noFlag("text", { agents: "The id of a task, or 6 or more of its first characters." }),
    ...WAIT_OPTIONS,
    ...PREVIEW_OPTIONS,
  },
  presentNames: ["taskId", "waitSeconds"],
  async run({ taskId, waitSeconds, preview }, call, toolbox) {
    if (taskId.length < 6)
      throw new UsageError(`taskId ${JSON.stringify(taskId)} has fewer than 6 characters.`, {
        hint: "Nothing was sent. Call history for the ids of tasks.",
      });
    return withPreviews(await answerForTask(taskId, waitSeconds, call, toolbox), preview ?? toolbox.previews);
  },
});

async function answerForTask(
  taskId: string,
  waitSeconds: number,
  call: Call,
  toolbox: Toolbox,
): Promise<Answer> {
  const { client, jobs, findTask, findOutput } = toolbox;
  const record = await findTask(taskId);
  const fullId = (record && getTaskId(record)) ?? taskId;
  const job = jobs.findByTask(fullId);
  if (job) return jobAnswer(job, waitSeconds, call, toolbox);
  if (waitSeconds === 0) return taskAnswer(await client.status(taskId, call));
  const timeoutMs = pollingMs(waitSeconds);
  // A task of the ledger already has a destination, so none is given.
  const options = record === null ? { timeoutMs, output: `${(await findOutput()).folder}/` } : { timeoutMs };
  const resumeJob = jobs.start(
    JSON.stringify(fullId),
    (shared) => resumeTask(taskId, shared, toolbox, options),
    fullId,
  );
  return jobAnswer(resumeJob, waitSeconds, call, toolbox);
}

export const resumeTasks = tool({
  name: "resume_tasks",
  title: "Resume tasks",
  description:
    "Finishes every task that is not saved, from this session or before it, and saves their images. Requests that were sent are not charged again. Requests that still wait are sent, and count against the cap.",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: true },
  options: WAIT_OPTIONS,
  presentNames: ["waitSeconds"],
  async run({ waitSeconds }, call, toolbox) {
    // The tasks of cancelled calls are resumed too, so stopped jobs must end first.
    await toolbox.jobs.waitUntilStopped();
    const jobs = toolbox.jobs.active;
    // An id is needed to report each task only once.
    await waitUntilAllQueued(jobs, call, toolbox);
    const [running, { tasks, unreadable, toAnswer }] = await Promise.all([
      Promise.all(
        jobs.map(async (job) => ({ job, answer: await getJobResult(job, waitSeconds, call, toolbox) })),
      ),
      resumeWithin(waitSeconds, call, toolbox),
    ]);
    // A task can be in `running` and in `tasks`. The answer in `running` is used, because `resume` reports the tasks of
    // running jobs as claimed, unless the job has failed and `resume` has saved its task.
    const savedIds = new Set(tasks.filter(({ ok }) => ok).map(({ taskId }) => taskId));
    const sessionAnswers = running.filter(({ job, answer }) => !(answer.isError && savedIds.has(job.taskId)));
    const sessionIds = new Set(sessionAnswers.map(({ job }) => job.taskId));
    const otherAnswers = tasks.filter(({ taskId }) => !sessionIds.has(taskId)).map(toAnswer);
    const answers = [...sessionAnswers.map(({ answer }) => answer), ...otherAnswers];
    const hasFailed = answers.some(({ isError }) => isError);
    return {
      result: {
        ok: !hasFailed && unreadable === undefined,
        tasks: answers.map(({ result }) => result),
        ...(unreadable && { unreadable }),
      },
    };
  },
});

/** Finishes tasks until the time is up. Another call can finish a download that takes longer. */
async function resumeWithin(waitSeconds: number, call: Call, { client, clock }: Toolbox) {
  const [timeUp, timerAbort] = [new AbortController(), new AbortController()];
  clock.sleep(Math.max(waitSeconds, 1) * 1000, timerAbort.signal).then(
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
    timerAbort.abort();
  }
}

/** Reports a task as running, not as failed, if the end of the wait has interrupted the task. */
function answerAtTimeUp(task: TaskResult): Answer {
  if (task.ok || task.error.type !== "interrupted") return taskAnswer(task);
  return runningAnswer(task, `Task ${task.taskId} is not saved yet.`);
}

function getJobResult(job: Job, waitSeconds: number, call: Call, toolbox: Toolbox): Promise<Answer> {
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
      const { tasks, ...otherFields } = await client.history({ ...filter, signal });
      const summaries = tasks.map((task) => ({ ...task, files: task.files.map(fileSummary) }));
      return { result: { ok: true, tasks: summaries, ...otherFields } };
    },
  });
