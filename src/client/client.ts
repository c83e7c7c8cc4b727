/// <reference lib="esnext.disposable" preserve="true" />

import { TransformStream } from "node:stream/web";
import { UsageError } from "../lib/error-types.ts";
import { InterruptedError } from "../lib/interrupted.ts";
import type { Words } from "../lib/wording.ts";
import { freeOfCharge } from "../models/cost.ts";
import { findModels, type ModelFilter } from "../models/find.ts";
import type { Model } from "../models/matrix.ts";
import type { ClientSession } from "./client-session.ts";
import { checkedFrom } from "./given-values.ts";
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
 * Generates images through one account, under the command line's promises: a request is submitted at most once, what
 * was charged is on disk before anything else happens, and a file under its final name is whole. Clients and
 * commands may share a home, in one process or in several. Every call throws `ImggenFailure`, and nothing else.
 */
export interface Client {
  /** Submits a request, waits for its images and saves them. */
  generate(options: GenerateOptions): Promise<GenerateResult>;
  /**
   * The earlier task that answers for a request: finished if it is unfinished, downloaded again if its files are gone.
   * Submits no new task; of an unfinished one it submits what was not sent. null where the request was never charged.
   */
  reuse(options: ReuseOptions): Promise<GenerateResult | null>;
  /**
   * Submits many requests into one folder. The same rows again resume the batch. Nothing is sent before the first row
   * is asked for, nor before every row is known to be good.
   */
  batch(rows: Iterable<BatchRowOptions> | AsyncIterable<BatchRowOptions>, options?: BatchOptions): Batch;
  /** Finishes the tasks with these ids; without any, all unfinished ones. */
  resume(taskIds?: readonly string[], options?: ResumeOptions): Promise<ResumeResult>;
  /** Polls one task. One that is queued before the user's own generator runs only where it is waited for or saved. */
  status(taskId: string, options?: StatusOptions): Promise<StatusResult>;
  /**
   * Ends what these tasks wait for, at no charge, gives up what runs at a free generator, and asks a generator that can
   * cancel to stop what it has accepted. Paid requests in flight are not cancelled, or waited for. One result for each task.
   */
  cancel(taskIds: readonly string[], options?: CancelOptions): Promise<CancelResult[]>;
  /** The tasks that were or may have been charged from this machine, newest first, and what cannot be read. Polls nothing. */
  history(options?: HistoryOptions): Promise<HistoryResult>;
  /** The model matrix. A model of which it is not documented that it matches is left out. */
  models(filter?: ModelFilter): Model[];
  /** Checks a request against the model matrix and gives its cost. Sends nothing. */
  estimate(request: RequestOptions): Estimate;
  /** Stops every call cleanly, waits for its end, and closes all connections. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * The rows of a batch, each as it ends. To leave the loop stops the batch cleanly: what is charged is on disk,
 * and the same rows again resume it.
 */
export interface Batch extends AsyncIterable<BatchRow> {
  /** Totals, once the last row was taken; null before. */
  readonly summary: BatchSummary | null;
}

/** A client for a session, which is a command's or that of a program that uses the package. */
export function createSessionClient(session: ClientSession, requestTimeoutMs?: number): Client {
  const { words } = session;
  const calls = new Calls(words);
  /** A login or a setting that has changed since the last call counts. */
  const refreshed = () => {
    session.settings.forget();
    const models = modelsInEffect(session);
    return session.isSandbox ? freeOfCharge(models) : models;
  };
  let published: Promise<PublishedCalls> | null = null;
  const open = () => {
    published ??= Promise.all([import("./published-calls.ts"), import("./operations.ts")]).then(
      ([calls, { Operations }]) =>
        new calls.PublishedCalls(session, new Operations(session, requestTimeoutMs)),
      (error) => {
        // Too many open files now may be few enough at the next call.
        published = null;
        throw error;
      },
    );
    return published;
  };
  /** @param leaving stops the call beside the caller's own signal */
  const call = async <Result>(
    name: keyof typeof CALLS,
    options: CallOptions,
    work: (published: PublishedCalls, signal: AbortSignal) => Promise<Result>,
    leaving?: AbortSignal,
  ) => {
    orFailure(() => checkOptions(name, options), words);
    session.settings.forget();
    return calls.run([options.signal, leaving], async (signal) => work(await open(), signal));
  };
  const close = async () => {
    await calls.close();
    await (await published?.catch(() => null))?.close();
  };
  return {
    generate: (options) => call("generate", options, (does, signal) => does.generate(options, signal)),
    reuse: (options) => call("reuse", options, (does, signal) => does.reuse(options, signal)),
    batch: (rows, options = {}) =>
      createBatch((onRow, leaving) =>
        call("batch", options, (does, signal) => does.batch(rows, options, signal, onRow), leaving),
      ),
    resume: (taskIds = [], options = {}) =>
      call("resume", options, async (does, signal) => {
        if (![taskIds].flat().every(isId))
          throw new UsageError("resume: task ids must be a list of strings.");
        return does.resume([taskIds].flat(), options, signal);
      }),
    status: (taskId, options = {}) =>
      call("status", options, async (does, signal) => {
        if (!isId(taskId)) throw new UsageError("status: the task id must be a string.");
        return does.status(taskId, options, signal);
      }),
    cancel: (taskIds, options = {}) =>
      call("cancel", options, async (does, signal) => {
        if (![taskIds].flat().every(isId) || taskIds.length === 0)
          throw new UsageError("cancel: task ids must be a list of strings.");
        return does.cancel([taskIds].flat(), options, signal);
      }),
    history: (options = {}) => call("history", options, (does) => does.history(options)),
    models: (filter = {}) => orFailure(() => findModels(filter, refreshed()).matching, words),
    estimate: (request) =>
      orFailure(() => {
        checkOptions("estimate", request);
        return checkedFrom(request, refreshed(), termsFromSettings(session), session.saved);
      }, words),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "";
}

function createBatch(
  run: (onRow: (row: BatchRow) => Promise<void>, leaving: AbortSignal) => Promise<BatchSummary>,
): Batch {
  let summary: BatchSummary | null = null;
  return {
    get summary() {
      return summary;
    },
    async *[Symbol.asyncIterator]() {
      // Nothing is buffered: each row waits until it is taken, or the caller has left.
      const { readable, writable } = new TransformStream<BatchRow, BatchRow>();
      const rows = writable.getWriter();
      const onRow = (row: BatchRow) => rows.write(row).catch(() => {});
      const leaving = new AbortController();
      const running = run(onRow, leaving.signal).finally(() => void rows.close().catch(() => {}));
      // It is thrown once the rows that ended before it were taken.
      running.catch(() => {});
      try {
        yield* readable;
        summary = await running;
      } finally {
        leaving.abort();
        await running.catch(() => {});
      }
    },
  };
}

/** Running calls of a client: each stops with its caller's signal, and all with the client. */
class Calls {
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  readonly #words: Words;

  /** @param words the words of failures */
  constructor(words: Words) {
    this.#words = words;
  }

  /**
   * Runs a call.
   * @param stops signals that abort it
   * @throws ImggenFailure for every error; nothing is sent if the client is closed or a signal has aborted already
   */
  async run<Result>(
    stops: readonly (AbortSignal | undefined)[],
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const controller = new AbortController();
    // Of its own for each call: a signal that many calls share must not gather listeners.
    const anyStop = AbortSignal.any([this.#closing.signal, ...stops.filter((stop) => stop !== undefined)]);
    const abort = () => controller.abort(new InterruptedError(null));
    anyStop.addEventListener("abort", abort);
    const call = (async () => {
      if (this.#closing.signal.aborted) throw new UsageError("The client is closed.", { hint: CLOSED });
      if (anyStop.aborted) throw new InterruptedError(null, { hint: "Nothing was sent." });
      return work(controller.signal);
    })();
    this.#running.add(call);
    try {
      return await call;
    } catch (error) {
      throw toImggenFailure(error, this.#words);
    } finally {
      this.#running.delete(call);
      anyStop.removeEventListener("abort", abort);
    }
  }

  /** Aborts every call, and waits until all have ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
  }
}

const CLOSED = "Nothing was sent. Make another one with createClient.";
