import { ImggenError } from "../../lib/error-types.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { ServiceIdentity } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { getCompletion } from "../../task/task.ts";
import { defaultSchedule, expectedSchedule, type PollingSchedule } from "./fixed-schedules.ts";
import { type CompletionInterval, isInformative, learnedSchedule } from "./learned-schedule.ts";

/**
 * Times of the polls of a running task.
 *
 * Every poll costs the service a request, and every millisecond between a task's completion and the next poll costs the user
 * waiting time. Tasks of one model and quality take similar times, so polls belong where completions are likely. The ledger
 * has, for each past task, the last poll that found it running and the poll that found it completed.
 *
 * A task's age counts from its acceptance. Delay is the time between a task's completion and the poll that finds it.
 *
 * - `learned-schedule.ts` fits a lognormal distribution to the durations of the last 50 tasks, of which older ones count less
 *   (0.95 each), with a chance that the service has become slower or faster, and derives the rate of polls.
 * - `fixed-schedules.ts` has the schedules that need no history.
 * - This file chooses a schedule for each task of a run, and spreads the first polls of tasks that begin concurrentTasks.
 *
 * Sources of the constants:
 * - The reference client (section 4.2) polls every 3 s, at most 60 times. imggen too promises at most 60 polls in any 180 s.
 *   Plans have 58, which leaves one for a poll at once and one at the deadline.
 * - 1.45 times the reference client's polls reduce its mean delay to a third. More polls bring little.
 * - The constants of the fallback were chosen with `test/bench/polling.js`, which simulates tasks of 8, 20 and 45 s: steady,
 *   memoryless, of two kinds, and becoming 2 or 3 times slower or faster. After 20 tasks of 8 s or 20 s, give or take a
 *   quarter, the mean delay is 0.33 of the reference client's (1.5 s) with 1.45 times its polls. For tasks of 45 s the limit
 *   of 58 polls applies: 0.6 of the delay with 0.84 of the polls.
 * - Tasks without a history have no longer delay than with the reference client, for the same number of polls.
 */

interface TaskHistory {
  history: CompletionInterval[];
  /** Computed from the history when needed; null before that. */
  schedule: PollingSchedule | null;
  /** Number of tasks that completed since the schedule was computed. */
  newTasks: number;
  /** Number of tasks that began before the first poll of the task before them. */
  concurrentTasks: number;
  lastStartMs: number;
}

const MAX_HISTORY = 50;
/** The schedule is recomputed if more than this share of its history is new. Fewer tasks would hardly change it. */
const MAX_NEW_SHARE = 1 / 4;
/** Only the first poll of a younger task is moved. An older one was polled already, or its wait began late. */
const NEW_TASK_MS = 150;
/** Multiples of the golden section, modulo 1, are spread evenly however many there are. */
const GOLDEN_SECTION = (Math.sqrt(5) - 1) / 2;

/**
 * Automatic schedules for each model and quality of a service, learned from this machine's ledger and from tasks that complete
 * in this run, so that rows of a batch learn from each other.
 */
export class PollingSchedules {
  readonly #ledger: Pick<Ledger, "recentSimilarTasks" | "clock">;
  readonly #service: Pick<ServiceIdentity, "baseUrl">;
  readonly #expectedMs: number | null;
  readonly #histories = new Map<string, Promise<TaskHistory>>();

  /** @param taskMs duration of the service's tasks if it is known in advance */
  constructor(
    ledger: Pick<Ledger, "recentSimilarTasks" | "clock">,
    service: Pick<ServiceIdentity, "baseUrl">,
    taskMs?: number,
  ) {
    this.#ledger = ledger;
    this.#service = service;
    this.#expectedMs = taskMs ?? null;
  }

  /** Schedule of the polls of a request's task. @param request null if the ledger does not have it */
  async forRequest(request: GenerationRequest | null): Promise<PollingSchedule> {
    if (this.#expectedMs !== null) return expectedSchedule(this.#expectedMs);
    if (request === null) return defaultSchedule;
    const taskHistory = await this.#getHistory(request);
    const schedule = currentSchedule(taskHistory);
    const nowMs = this.#ledger.clock.now();
    taskHistory.concurrentTasks =
      nowMs - taskHistory.lastStartMs < schedule.nextDelayMs(0) ? taskHistory.concurrentTasks + 1 : 1;
    taskHistory.lastStartMs = nowMs;
    return taskHistory.concurrentTasks === 1
      ? schedule
      : withFirstPollAt(firstPollMs(taskHistory, schedule), schedule);
  }

  /** Median duration of such tasks, in milliseconds; null without a history. */
  async getUsualMs(request: GenerationRequest | null): Promise<number | null> {
    if (this.#expectedMs !== null) return this.#expectedMs;
    if (request === null) return null;
    const { history } = await this.#getHistory(request);
    const middlesMs = history.map(({ pendingMs, seenMs }) => ((pendingMs ?? 0) + seenMs) / 2);
    return middlesMs.toSorted((a, b) => a - b)[Math.floor(middlesMs.length / 2)] ?? null;
  }

  /** Adds a completed task to the history if its polls show its duration. */
  async learn(request: GenerationRequest | null, interval: CompletionInterval): Promise<void> {
    if (request === null || !isInformative(interval)) return;
    const taskHistory = await this.#getHistory(request);
    taskHistory.history = [...taskHistory.history, interval].slice(-MAX_HISTORY);
    taskHistory.newTasks += 1;
  }

  #getHistory({ model, quality }: GenerationRequest): Promise<TaskHistory> {
    const name = `${model} ${quality ?? ""}`;
    const taskHistory =
      this.#histories.get(name) ?? this.#load({ model, ...(quality !== undefined && { quality }) });
    this.#histories.set(name, taskHistory);
    return taskHistory;
  }

  async #load(kind: Pick<GenerationRequest, "model" | "quality">): Promise<TaskHistory> {
    return {
      history: await this.#readHistory(kind),
      schedule: null,
      newTasks: 0,
      concurrentTasks: 0,
      lastStartMs: Number.NEGATIVE_INFINITY,
    };
  }

  /** Empty if the ledger cannot be read: writes to it report the error, and polling works without a history. */
  async #readHistory(kind: Pick<GenerationRequest, "model" | "quality">): Promise<CompletionInterval[]> {
    try {
      const records = await this.#ledger.recentSimilarTasks(kind, this.#service);
      const intervals = records.flatMap((task) => {
        const { seenMs = null, pendingMs = null } = getCompletion(task) ?? {};
        return seenMs === null ? [] : [{ seenMs, pendingMs }];
      });
      return intervals.filter(isInformative);
    } catch (error) {
      if (error instanceof ImggenError) return [];
      throw error;
    }
  }
}

/** A task keeps its first schedule, because polls of two plans could add up to more than either allows. */
function currentSchedule(taskHistory: TaskHistory): PollingSchedule {
  if (taskHistory.schedule === null || taskHistory.newTasks > MAX_NEW_SHARE * taskHistory.history.length) {
    taskHistory.schedule = learnedSchedule(taskHistory.history);
    taskHistory.newTasks = 0;
  }
  return taskHistory.schedule;
}

/**
 * Age, in milliseconds, for the first poll of a task that began concurrentTasks with others. At the planned age all of them could be
 * polled just too early, so they are spread over half of the time to the second poll. Without a history they are polled after
 * half an interval, so that a batch learns soon that its tasks are quick. The first task keeps to the plan, which is best for a
 * single task.
 */
function firstPollMs({ history, concurrentTasks }: TaskHistory, { nextDelayMs }: PollingSchedule): number {
  const firstMs = nextDelayMs(0);
  if (history.length === 0) return firstMs / 2;
  return firstMs + ((((concurrentTasks - 1) * GOLDEN_SECTION) % 1) * nextDelayMs(firstMs)) / 2;
}

function withFirstPollAt(firstMs: number, { nextDelayMs }: PollingSchedule): PollingSchedule {
  return {
    nextDelayMs: (elapsedMs) =>
      elapsedMs < NEW_TASK_MS ? Math.max(NEW_TASK_MS, firstMs - elapsedMs) : nextDelayMs(elapsedMs),
  };
}
