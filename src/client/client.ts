/// <reference lib="esnext.disposable" preserve="true" />

import { TransformStream } from "node:stream/web";
import { UsageError } from "../lib/error-types.ts";
import { InterruptedError } from "../lib/interrupted.ts";
import type { Vocabulary } from "../lib/wording.ts";
import { withoutCost } from "../models/cost.ts";
import { findModels, type ModelFilter } from "../models/find.ts";
import type { Model } from "../models/matrix.ts";
import type { ClientSession } from "./client-session.ts";
import { checkCallRequest } from "./given-values.ts";
import type {
  BatchOptions,
  BatchRowOptions,
  CallOptions,
  CancelOptions,
  GenerateOptions,
  HistoryOptions,
  RequestOptions,
  ResumeOptions,
  ReuseOptions,
  StatusOptions,
} from "./options/call-options.ts";
import { type CALLS, checkOptions } from "./options/call-table.ts";
import type { PublishedCalls } from "./published-calls.ts";
import { orFailure, toImggenFailure } from "./report-json.ts";
import type {
  BatchRow,
  BatchSummary,
  CancelResult,
  Estimate,
  GenerateResult,
  HistoryResult,
  ResumeResult,
  StatusResult,
} from "./results.ts";
import { termsFromSettings } from "./targets/generator-target.ts";
import { modelsInEffect } from "./targets/matrix-setting.ts";

/**
 * Generates images through one account. A request is submitted at most once, each charge is recorded on disk at once,
 * and an image gets its final file name only when complete. Clients and commands can share a home, also across
 * processes. Every call throws only `ImggenFailure`.
 */
export interface Client {
  /** Submits a request, waits for its images and saves them. */
  generate(options: GenerateOptions): Promise<GenerateResult>;
  /**
   * Returns the earlier task of an identical request, or null if none was charged. Finishes the task if necessary, and
   * downloads missing images again. Submits only the unsent requests of an unfinished task.
   */
  reuse(options: ReuseOptions): Promise<GenerateResult | null>;
  /**
   * Submits many requests and saves their images in one folder. A second call with the same rows resumes the
   * batch. Nothing is sent until the caller begins to read the results and every row has been checked.
   */
  batch(rows: Iterable<BatchRowOptions> | AsyncIterable<BatchRowOptions>, options?: BatchOptions): Batch;
  /** Finishes the tasks with these ids. Default: all unfinished tasks. */
  resume(taskIds?: readonly string[], options?: ResumeOptions): Promise<ResumeResult>;
  /** Polls one task. Never submits a queued request. */
  status(taskId: string, options?: StatusOptions): Promise<StatusResult>;
  /**
   * Cancels tasks and returns one result for each. Queued requests are cancelled at no charge, and running
   * requests at a free generator are abandoned. Accepted requests are cancelled if their generator supports
   * cancellation. Paid requests in flight are not cancelled, but awaited if `wait` is true.
   */
  cancel(taskIds: readonly string[], options?: CancelOptions): Promise<CancelResult[]>;
  /**
   * Returns the tasks that were charged, or might have been charged, from this machine, newest first, and the
   * unreadable files of the ledger. Does not poll.
   */
  history(options?: HistoryOptions): Promise<HistoryResult>;
  /** Returns the models of the matrix that are documented to match the filter. */
  models(filter?: ModelFilter): Model[];
  /** Checks a request against the model matrix and returns its cost. Sends nothing. */
  estimate(request: RequestOptions): Estimate;
  /** Stops all running calls cleanly, waits until they have ended, and closes all connections. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Results of a batch's rows, in the order in which the rows end. If the caller leaves its loop, the batch
 * stops cleanly: charges are recorded, and a call with the same rows resumes the batch.
 */
export interface Batch extends AsyncIterable<BatchRow> {
  /** Totals, or null until the caller has read the last row. */
  readonly summary: BatchSummary | null;
}

export function createSessionClient(session: ClientSession, requestTimeoutMs?: number): Client {
  const { words } = session;
  const calls = new Calls(words);
  /** Reads the settings again for each call, because a login might have changed them. */
  const loadModels = () => {
    session.settings.forget();
    const models = modelsInEffect(session);
    return session.isSandbox ? withoutCost(models) : models;
  };
  let publishedCalls: Promise<PublishedCalls> | null = null;
  const loadCalls = () => {
    publishedCalls ??= Promise.all([import("./published-calls.ts"), import("./operations.ts")]).then(
      ([calls, { Operations }]) =>
        new calls.PublishedCalls(session, new Operations(session, requestTimeoutMs)),
      (error) => {
        // The next call retries the import, which can fail for a moment, for example if too many files are open.
        publishedCalls = null;
        throw error;
      },
    );
    return publishedCalls;
  };
  /** @param breakSignal signal that is aborted when the caller leaves its loop over a batch */
  const call = async <Result>(
    name: keyof typeof CALLS,
    options: CallOptions,
    work: (published: PublishedCalls, signal: AbortSignal) => Promise<Result>,
    breakSignal?: AbortSignal,
  ) => {
    orFailure(() => checkOptions(name, options), words);
    session.settings.forget();
    return calls.run([options.signal, breakSignal], async (signal) => work(await loadCalls(), signal));
  };
  const close = async () => {
    await calls.close();
    await (await publishedCalls?.catch(() => null))?.close();
  };
  return {
    generate: (options) => call("generate", options, (api, signal) => api.generate(options, signal)),
    reuse: (options) => call("reuse", options, (api, signal) => api.reuse(options, signal)),
    batch: (rows, options = {}) =>
      createBatch((onRow, breakSignal) =>
        call("batch", options, (api, signal) => api.batch(rows, options, signal, onRow), breakSignal),
      ),
    resume: (taskIds = [], options = {}) =>
      call("resume", options, async (api, signal) => {
        if (![taskIds].flat().every(isId))
          throw new UsageError("resume: task ids must be a list of strings.");
        return api.resume([taskIds].flat(), options, signal);
      }),
    status: (taskId, options = {}) =>
      call("status", options, async (api, signal) => {
        if (!isId(taskId)) throw new UsageError("status: the task id must be a string.");
        return api.status(taskId, options, signal);
      }),
    cancel: (taskIds, options = {}) =>
      call("cancel", options, async (api, signal) => {
        if (![taskIds].flat().every(isId) || taskIds.length === 0)
          throw new UsageError("cancel: task ids must be a list of strings.");
        return api.cancel([taskIds].flat(), options, signal);
      }),
    history: (options = {}) => call("history", options, (api) => api.history(options)),
    models: (filter = {}) => orFailure(() => findModels(filter, loadModels()).matching, words),
    estimate: (request) =>
      orFailure(() => {
        checkOptions("estimate", request);
        return checkCallRequest(request, loadModels(), termsFromSettings(session), session.savedFields);
      }, words),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "";
}

function createBatch(
  run: (onRow: (row: BatchRow) => Promise<void>, breakSignal: AbortSignal) => Promise<BatchSummary>,
): Batch {
  let summary: BatchSummary | null = null;
  return {
    get summary() {
      return summary;
    },
    async *[Symbol.asyncIterator]() {
      // Results are not buffered, so the batch waits until the caller reads each result or leaves its loop.
      const { readable, writable } = new TransformStream<BatchRow, BatchRow>();
      const rows = writable.getWriter();
      const onRow = (row: BatchRow) => rows.write(row).catch(() => {});
      const breakController = new AbortController();
      const running = run(onRow, breakController.signal).finally(() => void rows.close().catch(() => {}));
      // `await running` throws the error later. Without this handler, Node would report an unhandled rejection first.
      running.catch(() => {});
      try {
        yield* readable;
        summary = await running;
      } finally {
        breakController.abort();
        await running.catch(() => {});
      }
    },
  };
}

/** Running calls of a client. Each is aborted by its caller's signal, and all are aborted on close. */
class Calls {
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #words: Vocabulary;

  constructor(words: Vocabulary) {
    this.#words = words;
  }

  /** Sends nothing if the client is closed or a signal is aborted. @throws ImggenFailure for every error */
  async run<Result>(
    stopSignals: readonly (AbortSignal | undefined)[],
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const controller = new AbortController();
    // Each call has its own controller, because listeners on a shared signal would accumulate.
    const stopSignal = AbortSignal.any([
      this.#closing.signal,
      ...stopSignals.filter((stop) => stop !== undefined),
    ]);
    const abort = () => controller.abort(new InterruptedError(null));
    stopSignal.addEventListener("abort", abort);
    const call = (async () => {
      if (this.#closing.signal.aborted) throw new UsageError("The client is closed.", { hint: CLOSED_HINT });
      if (stopSignal.aborted) throw new InterruptedError(null, { hint: "Nothing was sent." });
      return work(controller.signal);
    })();
    this.#running.add(call);
    try {
      return await call;
    } catch (error) {
      throw toImggenFailure(error, this.#words);
    } finally {
      this.#running.delete(call);
      stopSignal.removeEventListener("abort", abort);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }
}

const CLOSED_HINT = "Nothing was sent. Make another one with createClient.";
