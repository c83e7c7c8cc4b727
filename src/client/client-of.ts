import { TransformStream } from "node:stream/web";
import { UsageError } from "../lib/error-types.ts";
import { findModels } from "../models/find.ts";
import { Calls } from "./calls.ts";
import type { Batch, Client } from "./client.ts";
import { termsAtOnce } from "./generator-terms.ts";
import { matrixInEffect } from "./matrix-in-effect.ts";
import type { Operations } from "./operations.ts";
import { type CallOptions, checkOptions, type OPTIONS } from "./options.ts";
import { orFailure } from "./report-json.ts";
import { checkedFrom } from "./request.ts";
import type { BatchRow, BatchSummary } from "./results.ts";
import type { ClientSession } from "./session.ts";

/** A client for a session, which is a command's or that of a program that uses the package. */
export function clientOf(session: ClientSession, requestTimeoutMs?: number): Client {
  const { optionNames } = session;
  const calls = new Calls(optionNames);
  const matrix = () => matrixInEffect(session);
  /** A login or a setting that has changed since the last call counts. */
  const refreshed = () => {
    session.settings.forget();
    return matrix();
  };
  let operations: Promise<Operations> | null = null;
  const open = () => {
    operations ??= import("./operations.ts").then(
      (loaded) => new loaded.Operations(session, matrix, requestTimeoutMs),
      (error) => {
        // Too many open files now may be few enough at the next call.
        operations = null;
        throw error;
      },
    );
    return operations;
  };
  /** @param leaving stops the call beside the caller's own signal */
  const call = async <Result>(
    name: keyof typeof OPTIONS,
    options: CallOptions,
    work: (operations: Operations, signal: AbortSignal) => Promise<Result>,
    leaving?: AbortSignal,
  ) => {
    orFailure(() => checkOptions(name, options), optionNames);
    session.settings.forget();
    return calls.run([options.signal, leaving], async (signal) => work(await open(), signal));
  };
  const close = async () => {
    await calls.close();
    await (await operations?.catch(() => null))?.close();
  };
  return {
    generate: (options) => call("generate", options, (does, signal) => does.generate(options, signal)),
    reuse: (options) => call("reuse", options, (does, signal) => does.reuse(options, signal)),
    batch: (rows, options = {}) =>
      batchOf((onRow, leaving) =>
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
    history: (options = {}) => call("history", options, (does) => does.history(options)),
    models: (filter = {}) => orFailure(() => findModels(filter, refreshed()).matching, optionNames),
    estimate: (request) =>
      orFailure(() => {
        checkOptions("estimate", request);
        return checkedFrom(request, refreshed(), termsAtOnce(session));
      }, optionNames),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "";
}

function batchOf(
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
