import type { RowResult } from "../core/batch/row-result.ts";
import type { OnTaskProgress, TaskProgressEvent } from "../core/engine/events.ts";
import { createIdReport, type TaskReport } from "../core/engine/report.ts";
import { resolveDestination } from "../core/images/destination.ts";
import type { PrivateCopies } from "../core/references/private-copies.ts";
import { reuseEarlier } from "../core/use-cases/generate.ts";
import { errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { InterruptedError } from "../lib/interrupted.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import type { Destination } from "../task/intent.ts";
import { rowJson, summaryJson } from "./batch-json.ts";
import type { BatchRows } from "./batch-operations.ts";
import type { ClientSession } from "./client-session.ts";
import { checkCallRequest, toWaitSettings } from "./given-values.ts";
import { recentHistory } from "./listed-tasks.ts";
import type { Operations } from "./operations.ts";
import type {
  BatchOptions,
  CallOptions,
  CancelOptions,
  GenerateOptions,
  HistoryOptions,
  OutputOptions,
  ResumeOptions,
  ReuseOptions,
  StatusOptions,
} from "./options/call-options.ts";
import { cancelJson, ImggenFailure, reportJson, savedJson, skippedTasks, statusJson } from "./report-json.ts";
import type {
  BatchRow,
  BatchSummary,
  CancelResult,
  GenerateResult,
  HistoryResult,
  ResumeResult,
  StatusResult,
} from "./results.ts";
import { copiesForGenerator, targetInEffect } from "./targets/target-in-effect.ts";

/** Calls of the package. They are in a separate module, so that a client is created without loading them. */
export class PublishedCalls {
  readonly #session: ClientSession;
  readonly #operations: Operations;

  constructor(session: ClientSession, operations: Operations) {
    this.#session = session;
    this.#operations = operations;
  }

  /** @throws ImggenFailure if the task's report contains an error. Other errors are unchanged. */
  async generate(options: GenerateOptions, signal: AbortSignal): Promise<GenerateResult> {
    const { maxCredits, reuse = false, again = false } = options;
    const wait = options.wait === false ? null : toWaitSettings(options);
    const spec = {
      ...(await this.#checkRequest(options)),
      allowUndocumented: options.validate === false,
      references: await this.#copies(),
      ...{ destination: await this.#destination(options), wait, maxCredits, reuse, again, repeated: null },
    };
    const { caller, addListenerWarning } = this.#createCaller(options, signal);
    return this.#requireSuccess(addListenerWarning(await this.#operations.generate(spec, caller)));
  }

  /** @throws ImggenFailure if the report of the earlier task contains an error */
  async reuse(options: ReuseOptions, signal: AbortSignal): Promise<GenerateResult | null> {
    const wait = toWaitSettings(options);
    const { checked } = await this.#checkRequest(options);
    const copies = await this.#copies();
    const request = copies === null ? checked.request : await copies.asRecorded(checked.request);
    const destination = await this.#destination(options);
    const { caller, addListenerWarning } = this.#createCaller(options, signal);
    const deps = await this.#operations.depsFor(caller).current();
    const earlier = await reuseEarlier(request, { wait, destination }, deps);
    return earlier && this.#requireSuccess(addListenerWarning(earlier));
  }

  async batch(
    rows: BatchRows,
    options: BatchOptions,
    signal: AbortSignal,
    onRow: (row: BatchRow) => Promise<void>,
  ): Promise<BatchSummary> {
    const { checkBatchOfRows } = await import("./batch-operations.ts");
    const { spec } = await checkBatchOfRows(rows, options, this.#session);
    const { caller, addListenerWarning } = this.#createCaller(options, signal);
    const onEnd = (end: RowResult) => onRow(rowJson(end, this.#session.words));
    const result = await this.#operations.batch(spec, caller, { onEnd });
    signal.throwIfAborted();
    return addListenerWarning(summaryJson(result));
  }

  async status(taskId: string, options: StatusOptions, signal: AbortSignal): Promise<StatusResult> {
    const wait = options.wait === true ? toWaitSettings(options) : null;
    const { caller, addListenerWarning } = this.#createCaller(options, signal);
    const [report = createIdReport(taskId)] = await this.#operations.status(
      [taskId],
      { ...outputOptions(options), wait },
      caller,
    );
    return statusJson(addListenerWarning(report), this.#session.words);
  }

  async resume(ids: readonly string[], options: ResumeOptions, signal: AbortSignal): Promise<ResumeResult> {
    const wait = toWaitSettings(options);
    const { caller, addListenerWarning } = this.#createCaller(options, signal);
    const result = await this.#operations.resume(ids, { ...outputOptions(options), wait }, caller);
    const tasks = result.reports.map((report) => reportJson(addListenerWarning(report), this.#session.words));
    const ok = result.unreadable.length === 0 && tasks.every((task) => task.ok);
    return { ok, tasks, ...skippedTasks(result) };
  }

  async cancel(ids: readonly string[], options: CancelOptions, signal: AbortSignal): Promise<CancelResult[]> {
    const wait = options.wait === true ? toWaitSettings(options) : null;
    const { caller, addListenerWarning } = this.#createCaller(options, signal);
    const reports = await this.#operations.cancel(ids, wait, caller);
    return reports.map((report) => cancelJson(addListenerWarning(report), this.#session.words));
  }

  history(options: HistoryOptions): Promise<HistoryResult> {
    return recentHistory(options, this.#session);
  }

  close(): Promise<void> {
    return this.#operations.close();
  }

  async #checkRequest(options: GenerateOptions | ReuseOptions) {
    const target = await targetInEffect(this.#session);
    const matrix = await target.matrix();
    const terms = await target.terms(options);
    return { checked: checkCallRequest(options, matrix, terms, this.#session.savedFields), matrix };
  }

  /** Returns private copies of reference files, or null for a service, because a service supports only URLs. */
  #copies(): Promise<PrivateCopies | null> {
    return copiesForGenerator(this.#session, FIELD_LABELS.image);
  }

  #requireSuccess(report: TaskReport): GenerateResult {
    const result = savedJson(report, this.#session.words);
    if (result.ok) return result;
    throw new ImggenFailure(result, report.error);
  }

  #createCaller(options: CallOptions & { yes?: boolean | undefined }, signal: AbortSignal) {
    const { onProgress, addListenerWarning } = guardListener(options.onProgress);
    const writeOut = () => Promise.reject(new InterruptedError(null));
    return {
      caller: { signal, onProgress, writeOut, acceptsOtherKey: options.yes === true },
      addListenerWarning,
    };
  }

  #destination(options: OutputOptions): Promise<Destination> {
    const { output, name, overwrite = false } = outputOptions(options);
    const { resolvePath } = this.#session.context;
    return resolveDestination({ output, name, overwrite, resolvePath, mayExist: true });
  }
}

/** @throws UsageError for standard output, which only the command line supports */
function outputOptions({ output, name, overwrite }: OutputOptions): OutputOptions {
  if (output === "-") throw new UsageError('output must be a file or a folder, not "-".');
  return { output, name, overwrite };
}

/** Wraps a caller's listener, so that an error of the listener does not end a call that might be charged already. */
function guardListener(listener: OnTaskProgress = () => {}) {
  let warning: string | null = null;
  let hasWarned = false;
  const onFailure = (error: unknown) => {
    warning ??= `onProgress failed: ${errorText(error)}. The call continued.`;
  };
  return {
    onProgress(event: TaskProgressEvent): void {
      // The promise catches errors of synchronous and of asynchronous listeners.
      new Promise((end) => end(listener(event))).catch(onFailure);
    },
    /** Adds a warning about the listener's first error, unless an earlier result already contains the warning. */
    addListenerWarning<Result extends { warnings: readonly string[] }>(result: Result): Result {
      if (warning === null || hasWarned) return result;
      hasWarned = true;
      return { ...result, warnings: [...result.warnings, warning] };
    },
  };
}
