import { ImggenError } from "../../lib/errors.ts";
import type { LedgerReader } from "../../store/ledger-reader.ts";
import type { ServiceIdentity } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import {
  type CompletionInterval,
  defaultSchedule,
  expectedSchedule,
  isInformative,
  learnedSchedule,
  type PollingSchedule,
  staggeredSchedule,
} from "./index.ts";

/** What is known of how long tasks of one model and quality take. */
interface Lesson {
  history: CompletionInterval[];
  /** The latest one that was made of a history; null while no task has asked for one. */
  schedule: PollingSchedule | null;
  /** How many tasks have completed since that was made. */
  news: number;
  /** How many tasks were waited for while the history was empty: the order in which their first looks are spread. */
  untaught: number;
}

const LONGEST_HISTORY = 50;
/** A schedule is made anew once more than this part of its history is new: less changes it too little. */
const WORTH_LEARNING = 1 / 4;

/**
 * The automatic schedule for each model and quality of a service, learned from this machine's own ledger, and
 * from each task that completes while it runs: the rows of a batch learn from each other.
 */
export class PollingSchedules {
  readonly #ledger: LedgerReader;
  readonly #service: Pick<ServiceIdentity, "baseUrl">;
  readonly #expected: PollingSchedule | null;
  readonly #lessons = new Map<string, Promise<Lesson>>();

  /** @param taskMs how long the service's tasks take, where that is known and nothing needs to be learned */
  constructor(ledger: LedgerReader, service: Pick<ServiceIdentity, "baseUrl">, taskMs?: number) {
    this.#ledger = ledger;
    this.#service = service;
    this.#expected = taskMs === undefined ? null : expectedSchedule(taskMs);
  }

  /** When to look for a request's task. @param request null where this machine does not know it */
  async of(request: GenerationRequest | null): Promise<PollingSchedule> {
    if (this.#expected) return this.#expected;
    if (request === null) return defaultSchedule;
    const lesson = await this.#lesson(request);
    if (lesson.history.length === 0) return staggeredSchedule(lesson.untaught++);
    // One for the whole of a task's wait: looks of two plans could add up to more than either allows.
    if (lesson.schedule === null || lesson.news > WORTH_LEARNING * lesson.history.length) {
      lesson.schedule = learnedSchedule(lesson.history);
      lesson.news = 0;
    }
    return lesson.schedule;
  }

  /** Takes note of a task that was seen to complete, where that tells how long such tasks take. */
  async learn(request: GenerationRequest | null, interval: CompletionInterval): Promise<void> {
    if (request === null || !isInformative(interval)) return;
    const lesson = await this.#lesson(request);
    lesson.history = [...lesson.history, interval].slice(-LONGEST_HISTORY);
    lesson.news += 1;
  }

  #lesson({ model, quality }: GenerationRequest): Promise<Lesson> {
    const kind = `${model} ${quality ?? ""}`;
    const known = this.#lessons.get(kind) ?? this.#load({ model, ...(quality !== undefined && { quality }) });
    this.#lessons.set(kind, known);
    return known;
  }

  async #load(kind: Pick<GenerationRequest, "model" | "quality">): Promise<Lesson> {
    return { history: await this.#history(kind), schedule: null, news: 0, untaught: 0 };
  }

  /** A ledger that cannot be read is told where it matters; to look at even distances needs none. */
  async #history(kind: Pick<GenerationRequest, "model" | "quality">): Promise<CompletionInterval[]> {
    try {
      const records = await this.#ledger.recentOfKind(kind, this.#service);
      const intervals = records.flatMap(({ state }) => {
        const { seenMs, pendingMs } =
          "sighting" in state ? state.sighting : { seenMs: null, pendingMs: null };
        return seenMs === null ? [] : [{ seenMs, pendingMs }];
      });
      return intervals.filter(isInformative);
    } catch (error) {
      if (error instanceof ImggenError) return [];
      throw error;
    }
  }
}
