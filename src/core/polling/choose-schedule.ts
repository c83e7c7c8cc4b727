import { ImggenError } from "../../lib/error-types.ts";
import type { Ledger } from "../../store/ledger.ts";
import type { ServiceIdentity } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { getCompletion } from "../../task/task.ts";
import { defaultSchedule, expectedSchedule, type PollingSchedule } from "./fixed-schedules.ts";
import { type CompletionInterval, isInformative, learnedSchedule } from "./learned-schedule.ts";

/**
 * Times of the polls of a running task. Tasks of one model and quality take similar times, so polls are made when
 * completions are likely. The delay is the time between a task's completion and the poll that finds it.
 *
 * - `learned-schedule.ts` derives the rate of polls from the durations of the last 50 tasks.
 * - `fixed-schedules.ts` has the schedules that need no history.
 * - This file chooses a schedule for each task of a run, and spreads the first polls of concurrent tasks.
 *
 * The reference client (section 4.2) polls every 3 s, at most 60 times. imggen also makes at most 60 polls in any 180 s.
 * With 1.45 times as many polls as the reference client, the mean delay is a third of its delay. More polls help little.
 * The constants of the fallback were chosen with the simulation `test/bench/polling.js`.
 */

interface TaskHistory {
  history: CompletionInterval[];
  schedule: PollingSchedule | null;
  /** Number of tasks that completed since the schedule was computed. */
  newTasks: number;
  /** Length of the current series of tasks, each of which began before the first poll of the previous task. */
  concurrentTasks: number;
  lastStartMs: number;
}

const MAX_HISTORY = 50;
/** Share of new tasks in the history above which the schedule is recomputed. */
const MAX_NEW_SHARE = 1 / 4;
/** Maximum age of a task whose first poll can still be moved, in milliseconds. */
const NEW_TASK_MS = 150;
/** The multiples of this number, modulo 1, are spread evenly, regardless of their number. */
const GOLDEN_SECTION = (Math.sqrt(5) - 1) / 2;

/** Schedules for each model and quality of a service, learned from the ledger and from the tasks of this run. */
export class PollingSchedules {
  readonly #ledger: Pick<Ledger, "recentSimilarTasks" | "clock">;
  readonly #service: Pick<ServiceIdentity, "baseUrl">;
  readonly #expectedMs: number | null;
  readonly #histories = new Map<string, Promise<TaskHistory>>();

  /** @param taskMs duration of the service's tasks in milliseconds; absent if not known in advance */
  constructor(
    ledger: Pick<Ledger, "recentSimilarTasks" | "clock">,
    service: Pick<ServiceIdentity, "baseUrl">,
    taskMs?: number,
  ) {
    this.#ledger = ledger;
    this.#service = service;
    this.#expectedMs = taskMs ?? null;
  }

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

  /** Median duration of tasks with the same model and quality, in milliseconds; null if there is no history. */
  async getUsualMs(request: GenerationRequest | null): Promise<number | null> {
    if (this.#expectedMs !== null) return this.#expectedMs;
    if (request === null) return null;
    const { history } = await this.#getHistory(request);
    const middlesMs = history.map(({ pendingMs, seenMs }) => ((pendingMs ?? 0) + seenMs) / 2);
    return middlesMs.toSorted((a, b) => a - b)[Math.floor(middlesMs.length / 2)] ?? null;
  }

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

  /** Returns an empty history if the ledger cannot be read, because polling works without a history. */
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

function currentSchedule(taskHistory: TaskHistory): PollingSchedule {
  if (taskHistory.schedule === null || taskHistory.newTasks > MAX_NEW_SHARE * taskHistory.history.length) {
    taskHistory.schedule = learnedSchedule(taskHistory.history);
    taskHistory.newTasks = 0;
  }
  return taskHistory.schedule;
}

/**
 * Age in milliseconds for the first poll of a concurrent task. First polls are spread over half of the time to the
 * second poll, because at one age they could all be slightly too early.
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
