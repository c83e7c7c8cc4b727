import type { RowResult } from "../core/batch/row-result.ts";
import { reportOfId, type TaskReport } from "../core/engine/report.ts";
import { InterruptedError } from "../core/errors.ts";
import { resolveDestination } from "../core/images/destination.ts";
import { DEFAULT_TEMPLATE } from "../core/images/file-name.ts";
import type { PrivateCopies } from "../core/references/private-copies.ts";
import { batch } from "../core/use-cases/batch.ts";
import { cancel } from "../core/use-cases/cancel.ts";
import { generate, reuseEarlier } from "../core/use-cases/generate.ts";
import { HISTORY_LIMIT, historyFilter, recentTasks } from "../core/use-cases/history.ts";
import { resume } from "../core/use-cases/resume.ts";
import { status } from "../core/use-cases/status.ts";
import { UsageError } from "../lib/error-types.ts";
import { FIELD_LABELS } from "../models/rules/rule.ts";
import { mayBeTask } from "../store/ledger-files.ts";
import type { Destination } from "../task/intent.ts";
import { rowJson, summaryJson } from "./batch-json.ts";
import { listening } from "./calls.ts";
import type { ClientSession } from "./client-session.ts";
import { matrixInEffect } from "./matrix-in-effect.ts";
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
} from "./options.ts";
import {
  cancelJson,
  historyEntry,
  ImggenFailure,
  leftAlone,
  reportJson,
  savedJson,
  statusJson,
  unreadableFiles,
} from "./report-json.ts";
import { type BatchRows, batchFrom, checkedFrom, waitFrom } from "./request-options.ts";
import type {
  BatchRow,
  BatchSummary,
  CancelResult,
  GenerateResult,
  HistoryResult,
  ResumeResult,
  StatusResult,
} from "./results.ts";
import { copiesForGenerator, termsInEffect } from "./service-in-effect.ts";
import { Workspace } from "./workspace.ts";

/** What a client's calls do. A module of its own, so that a client is created without loading any of it. */
export class Operations {
  readonly #session: ClientSession;
  readonly #workspace: Workspace;

  constructor(session: ClientSession, requestTimeoutMs: number | undefined) {
    this.#session = session;
    this.#workspace = new Workspace(session, requestTimeoutMs);
  }

  /** @throws ImggenFailure if the image is not there, or what the use case throws */
  async generate(options: GenerateOptions, signal: AbortSignal): Promise<GenerateResult> {
    const { maxCredits, reuse = false, again = false, validate } = options;
    const matrix = matrixInEffect(this.#session);
    const checked = checkedFrom(options, matrix, await termsInEffect(this.#session, options));
    const wait = options.wait === false ? null : waitFrom("generate", options);
    const destination = await this.#destination(options, { mayExist: true });
    const terms = {
      maxCredits,
      matrix,
      allowUndocumented: validate === false,
      repeated: null,
      reuse,
      again,
    };
    const spec = { checked, destination, wait, references: await this.#copies(), ...terms };
    const deps = this.#depsFor(options, signal);
    return this.#succeeded(deps.noted(await generate(spec, await deps.current())));
  }

  /** @throws ImggenFailure where the earlier task has no image */
  async reuse(options: ReuseOptions, signal: AbortSignal): Promise<GenerateResult | null> {
    const wait = waitFrom("reuse", options);
    const matrix = matrixInEffect(this.#session);
    const checked = checkedFrom(options, matrix, await termsInEffect(this.#session, options));
    const copies = await this.#copies();
    const request = copies === null ? checked.request : await copies.asRecorded(checked.request);
    const destination = await this.#destination(options, { mayExist: true });
    const deps = this.#depsFor(options, signal);
    const earlier = await reuseEarlier(request, { wait, destination }, await deps.current());
    return earlier && this.#succeeded(deps.noted(earlier));
  }

  async batch(
    rows: BatchRows,
    options: BatchOptions,
    signal: AbortSignal,
    onRow: (row: BatchRow) => Promise<void>,
  ): Promise<BatchSummary> {
    const { words } = this.#session;
    const generator = await termsInEffect(this.#session, options);
    const checks = { matrix: matrixInEffect(this.#session), generator, copies: await this.#copies() };
    const spec = await batchFrom(rows, options, checks, this.#session);
    const deps = this.#depsFor(options, signal);
    const onEnd = (end: RowResult) => onRow(rowJson(end, words));
    const result = await batch(spec, await deps.current(), { onEnd });
    signal.throwIfAborted();
    return deps.noted(summaryJson(result));
  }

  async status(taskId: string, options: StatusOptions, signal: AbortSignal): Promise<StatusResult> {
    const wait = options.wait === true ? waitFrom("status", options) : null;
    const destination = options.output === undefined ? null : await this.#destination(options);
    const deps = this.#depsFor(options, signal);
    const named = { id: taskId, record: await deps.ledger.find(taskId) };
    const [report = reportOfId(taskId)] = await status([named], { wait, destination }, deps);
    return statusJson(deps.noted(report), this.#session.words);
  }

  async resume(ids: readonly string[], options: ResumeOptions, signal: AbortSignal): Promise<ResumeResult> {
    const wait = waitFrom("resume", options);
    const destination = options.output === undefined ? null : await this.#destination(options);
    const { overwrite = false } = options;
    const { isSandbox, words, context } = this.#session;
    const fallback = () =>
      ({ kind: "folder", folder: context.resolvePath("."), template: DEFAULT_TEMPLATE, overwrite }) as const;
    const deps = this.#depsFor(options, signal);
    const spec = { ids, isSandbox, wait, destination, fallback };
    const resumed = await resume(spec, deps);
    const tasks = resumed.reports.map((report) => reportJson(deps.noted(report), words));
    const ok = resumed.unreadable.length === 0 && tasks.every((task) => task.ok);
    return { ok, tasks, ...leftAlone(resumed) };
  }

  async cancel(ids: readonly string[], options: CancelOptions, signal: AbortSignal): Promise<CancelResult[]> {
    const wait = options.wait === true ? waitFrom("cancel", options) : null;
    const deps = this.#depsFor(options, signal);
    const reports = await cancel({ ids, wait }, deps);
    return reports.map((report) => cancelJson(deps.noted(report), this.#session.words));
  }

  async history(options: HistoryOptions): Promise<HistoryResult> {
    const { limit = HISTORY_LIMIT } = options;
    const { context, isSandbox } = this.#session;
    const filter = await historyFilter(options, {
      matrix: () => matrixInEffect(this.#session),
      nowMs: context.clock.now(),
      isSandbox,
      labelOf: (name) => `history: ${name}`,
    });
    const { records, unreadable } = await recentTasks(this.#workspace.ledger, limit, filter);
    return { tasks: records.map(historyEntry), ...unreadableFiles(unreadable.filter(mayBeTask)) };
  }

  close(): Promise<void> {
    return this.#workspace.close();
  }

  /** Copies of reference images that are files; null for a service, which takes URLs. */
  #copies(): Promise<PrivateCopies | null> {
    return copiesForGenerator(this.#session, FIELD_LABELS.image);
  }

  #succeeded(report: TaskReport): GenerateResult {
    const result = savedJson(report, this.#session.words);
    if (result.ok) return result;
    throw new ImggenFailure(result, report.error);
  }

  #depsFor(options: CallOptions & { yes?: boolean | undefined }, signal: AbortSignal) {
    const { onProgress, noted } = listening(options.onProgress);
    const writeOut = () => Promise.reject(new InterruptedError(null));
    const acceptsOtherKey = options.yes === true;
    return { ...this.#workspace.depsFor({ signal, onProgress, writeOut, acceptsOtherKey }), noted };
  }

  #destination(
    { output, name, overwrite = false }: OutputOptions,
    how: { mayExist?: boolean } = {},
  ): Promise<Destination> {
    const { resolvePath } = this.#session.context;
    if (output === "-") throw new UsageError('output takes a file or a folder, not "-".');
    return resolveDestination({ output, name, overwrite, resolvePath, ...how });
  }
}
