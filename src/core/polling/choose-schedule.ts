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
 * The idea. Every poll costs the service a request, and every millisecond between a task's completion and the next poll
 * costs the user waiting time. Tasks of one model and quality take similar times, so polls belong where completions
 * are likely. This machine's ledger knows, for each past task, the last poll that found it running and the poll that
 * found it completed.
 *
 * A schedule tells when to poll. A task's age counts from its acceptance. Delay is the time between a task's completion
 * and the poll that sees it.
 *
 * - `learned-schedule.ts`: from the last 50 tasks, of which older ones count less (0.95 each), the lognormal distribution
 *   of their durations and the chance that the service has become slower or faster; from that, the rate of polls.
 * - `fixed-schedules.ts`: the schedules that need no history.
 * - This file chooses one for each task of a run, and spreads the first polls of tasks that begin together. `wait.ts`
 *   polls by it.
 *
 * Sources of the constants.
 * - The reference client (section 4.2) polls every 3 s, at most 60 times. 60 polls in any 180 s is this program's promise
 *   too; plans have 58, which leaves one for a poll at once and one at the deadline.
 * - 1.45 times the reference client's polls reduce its mean delay to a third. More polls bring little.
 * - The constants of the fallback were chosen with `test/bench/polling.js`, which simulates tasks of 8, 20 and 45 s,
 *   steady, memoryless, of two kinds, and becoming 2 or 3 times slower or faster. After 20 tasks of 8 s or 20 s, give or
 *   take a quarter, completions are seen in 0.33 of the reference client's mean delay (1.5 s) with 1.45 times its polls.
 *   Tasks of 45 s are limited by the 58 polls: 0.6 of the delay with 0.84 of the polls.
 * - Tasks without a history are seen no later than by the reference client with the same number of polls.
 */

/** Known durations of tasks of one model and quality. */
interface Kind {
  history: CompletionInterval[];
  /** Computed from the history when it was last needed; null before that. */
  schedule: PollingSchedule | null;
  /** Number of tasks that completed since the schedule was made. */
  newTasks: number;
  /** Number of tasks that began, each before the one before it was polled; and the time of the last. */
  together: number;
  lastBegunMs: number;
}

const MAX_HISTORY = 50;
/** A schedule is computed again once more than this part of its history is new: fewer tasks would hardly change it. */
const NEW_PART = 1 / 4;
/** A task that is older has been polled already, or is watched late: its first poll is not moved. */
const NEW_TASK_MS = 150;
/** Multiples of the golden section, modulo 1, are spread evenly however many there are. */
const GOLDEN_SECTION = (Math.sqrt(5) - 1) / 2;

/**
 * The automatic schedule for each model and quality of a service, learned from this machine's own ledger, and
 * from each task that completes while it runs: the rows of a batch learn from each other.
 */
export class PollingSchedules {
  readonly #ledger: Pick<Ledger, "recentSimilarTasks" | "clock">;
  readonly #service: Pick<ServiceIdentity, "baseUrl">;
  readonly #expectedMs: number | null;
  readonly #kinds = new Map<string, Promise<Kind>>();

  /** @param taskMs how long the service's tasks take, if that is known and need not be learned */
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
  async of(request: GenerationRequest | null): Promise<PollingSchedule> {
    if (this.#expectedMs !== null) return expectedSchedule(this.#expectedMs);
    if (request === null) return defaultSchedule;
    const kind = await this.#kind(request);
    const schedule = currentSchedule(kind);
    const nowMs = this.#ledger.clock.now();
    kind.together = nowMs - kind.lastBegunMs < schedule.nextDelayMs(0) ? kind.together + 1 : 1;
    kind.lastBegunMs = nowMs;
    return kind.together === 1 ? schedule : withFirstPollAt(firstPollMs(kind, schedule), schedule);
  }

  /** Usual duration of such tasks, in milliseconds; null without a history. */
  async usualMs(request: GenerationRequest | null): Promise<number | null> {
    if (this.#expectedMs !== null) return this.#expectedMs;
    if (request === null) return null;
    const { history } = await this.#kind(request);
    const middles = history.map(({ pendingMs, seenMs }) => ((pendingMs ?? 0) + seenMs) / 2);
    return middles.toSorted((a, b) => a - b)[Math.floor(middles.length / 2)] ?? null;
  }

  /** Adds a completed task to the history, if its polls say how long it took. */
  async learn(request: GenerationRequest | null, interval: CompletionInterval): Promise<void> {
    if (request === null || !isInformative(interval)) return;
    const kind = await this.#kind(request);
    kind.history = [...kind.history, interval].slice(-MAX_HISTORY);
    kind.newTasks += 1;
  }

  #kind({ model, quality }: GenerationRequest): Promise<Kind> {
    const name = `${model} ${quality ?? ""}`;
    const kind = this.#kinds.get(name) ?? this.#load({ model, ...(quality !== undefined && { quality }) });
    this.#kinds.set(name, kind);
    return kind;
  }

  async #load(kind: Pick<GenerationRequest, "model" | "quality">): Promise<Kind> {
    return {
      history: await this.#history(kind),
      schedule: null,
      newTasks: 0,
      together: 0,
      lastBegunMs: Number.NEGATIVE_INFINITY,
    };
  }

  /** Empty if the ledger cannot be read: the code that writes to it reports the error, and polling works without it. */
  async #history(kind: Pick<GenerationRequest, "model" | "quality">): Promise<CompletionInterval[]> {
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

/** A task keeps the schedule that it began with: polls of two plans could add up to more than either allows. */
function currentSchedule(kind: Kind): PollingSchedule {
  if (kind.schedule === null || kind.newTasks > NEW_PART * kind.history.length) {
    kind.schedule = learnedSchedule(kind.history);
    kind.newTasks = 0;
  }
  return kind.schedule;
}

/**
 * The age, milliseconds, at which to poll a task first that has begun together with others. At the plan's own age they
 * would all be polled just too early if the plan is a little wrong: they are spread from there over half of the way to
 * the second poll. Without a history they are polled after half an interval, for a batch to learn soon that its tasks
 * are quick. The first of them keeps to the plan, which is the best for a task alone.
 */
function firstPollMs({ history, together }: Kind, { nextDelayMs }: PollingSchedule): number {
  const firstMs = nextDelayMs(0);
  if (history.length === 0) return firstMs / 2;
  return firstMs + ((((together - 1) * GOLDEN_SECTION) % 1) * nextDelayMs(firstMs)) / 2;
}

function withFirstPollAt(firstMs: number, { nextDelayMs }: PollingSchedule): PollingSchedule {
  return {
    nextDelayMs: (elapsedMs) =>
      elapsedMs < NEW_TASK_MS ? Math.max(NEW_TASK_MS, firstMs - elapsedMs) : nextDelayMs(elapsedMs),
  };
}
