import { systemClock } from "../lib/clock.ts";
import { UsageError } from "../lib/errors.ts";
import { systemProcesses } from "../lib/processes.ts";
import { findModels } from "../models/find.ts";
import { readSettings, settingsFile } from "../store/settings-file.ts";
import { checkApiKey, checkBaseUrl } from "./account.ts";
import { Calls } from "./calls.ts";
import type { Batch, Client } from "./client.ts";
import type { ClientContext } from "./context.ts";
import { EffectiveSettings } from "./effective-settings.ts";
import { failedCall } from "./failed-call.ts";
import { foldersOf } from "./folders.ts";
import { Handover } from "./handover.ts";
import type { Operations } from "./operations.ts";
import { type CallOptions, type ClientOptions, checkOptions, type OPTIONS } from "./options.ts";
import { checkedFrom } from "./request.ts";
import type { BatchRow, BatchSummary } from "./results.ts";
import { thisProcess } from "./this-process.ts";

/** Makes a client. Nothing is connected or written before its first call. @throws ImggenFailure for options it cannot use */
export function createClient(options: ClientOptions = {}): Client {
  return orFailure(() => {
    checkOptions("createClient", options);
    return clientOf(contextOf(options), options.requestTimeoutMs);
  });
}

function clientOf(context: ClientContext, requestTimeoutMs: number | undefined): Client {
  const calls = new Calls();
  let operations: Promise<Operations> | null = null;
  const open = () => {
    operations ??= import("./operations.ts").then(
      (loaded) => new loaded.Operations(context, requestTimeoutMs),
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
    orFailure(() => checkOptions(name, options));
    return calls.run([options.signal, leaving], async (signal) => work(await open(), signal));
  };
  const close = async () => {
    await calls.close();
    await (await operations)?.close();
  };
  return {
    generate: (options) => call("generate", options, (does, signal) => does.generate(options, signal)),
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
    models: (filter = {}) => findModels(filter).matching,
    estimate: (request) =>
      orFailure(() => {
        checkOptions("estimate", request);
        return checkedFrom(request);
      }),
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
      const rows = new Handover<BatchRow>();
      const leaving = new AbortController();
      const running = run((row) => rows.give(row), leaving.signal).finally(() => rows.end());
      // It is thrown once the rows that ended before it were taken.
      running.catch(() => {});
      try {
        yield* rows.items();
        summary = await running;
      } finally {
        rows.end();
        leaving.abort();
        await running.catch(() => {});
      }
    },
  };
}

/** What the client stands on: this process, with what the options say in place of its environment. */
function contextOf({ baseUrl, apiKey, sandbox, home }: ClientOptions): ClientContext {
  if (sandbox && (baseUrl !== undefined || apiKey !== undefined))
    throw new UsageError("createClient: sandbox takes neither baseUrl nor apiKey.");
  if (baseUrl !== undefined) checkBaseUrl(baseUrl, "baseUrl");
  if (apiKey !== undefined) checkApiKey(apiKey, "apiKey");
  const { fileMode, resolvePath, ...own } = thisProcess();
  const env = home === undefined ? own.env : { ...own.env, IMGGEN_HOME: home };
  const folders = foldersOf({ env, resolvePath });
  const account = { ...env, ...given("IMGGEN_BASE_URL", baseUrl), ...given("IMGGEN_API_KEY", apiKey) };
  return {
    env,
    fileMode,
    clock: systemClock,
    processes: systemProcesses(),
    random: Math.random,
    folders,
    settings: new EffectiveSettings(account, () => readSettings(settingsFile(folders.config))),
    isSandbox: sandbox === true,
    onExchange: undefined,
    onRefill() {},
  };
}

function given(name: string, value: string | undefined): Record<string, string> {
  return value === undefined ? {} : { [name]: value };
}

/** @throws ImggenFailure in place of whatever was thrown */
function orFailure<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw failedCall(error);
  }
}
