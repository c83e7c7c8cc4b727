/// <reference lib="esnext.disposable" preserve="true" />

import type { ModelFilter } from "../models/find.ts";
import type { Model } from "../models/matrix.ts";
import type {
  BatchOptions,
  BatchRowOptions,
  GenerateOptions,
  HistoryOptions,
  RequestOptions,
  ResumeOptions,
  ReuseOptions,
  StatusOptions,
} from "./options.ts";
import type {
  BatchRow,
  BatchSummary,
  Estimate,
  HistoryResult,
  ResumeResult,
  StatusResult,
  TaskSuccess,
} from "./results.ts";

/**
 * Generates images through one account, under the command line's promises: a request is submitted at most once, what
 * was charged is on disk before anything else happens, and a file under its final name is whole. Clients and
 * commands may share a home, in one process or in several. Every call throws `ImggenFailure`, and nothing else.
 */
export interface Client {
  /** Submits a request, waits for its images and saves them. */
  generate(options: GenerateOptions): Promise<TaskSuccess>;
  /**
   * The earlier task that answers for a request: finished if it is unfinished, downloaded again if its files are gone.
   * Submits nothing. null where the request was never charged.
   */
  reuse(options: ReuseOptions): Promise<TaskSuccess | null>;
  /**
   * Submits many requests into one folder. The same rows again resume the batch. Nothing is sent before the first row
   * is asked for, nor before every row is known to be good.
   */
  batch(rows: Iterable<BatchRowOptions> | AsyncIterable<BatchRowOptions>, options?: BatchOptions): Batch;
  /** Finishes the tasks with these ids; without any, every one that is charged and not saved. */
  resume(taskIds?: readonly string[], options?: ResumeOptions): Promise<ResumeResult>;
  /** Polls one task. One that is queued before the user's own generator runs only where it is waited for or saved. */
  status(taskId: string, options?: StatusOptions): Promise<StatusResult>;
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
