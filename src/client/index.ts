// The public API of the package.

export type { TaskProgressEvent } from "../core/engine/events.ts";
export type { ReportStatus } from "../core/engine/report.ts";
export type { HistoryStatus } from "../core/use-cases/history.ts";
export type { Charged, ErrorType } from "../lib/error-types.ts";
export type { ModelFilter } from "../models/find.ts";
export type { Kind, Model, Quality, References } from "../models/matrix.ts";
export type { GenerationRequest } from "../task/request.ts";
export type { SavedFile } from "../task/saved-file.ts";
export type { Batch, Client } from "./client.ts";
export { createClient } from "./create-client.ts";
export type {
  BatchOptions,
  BatchRowOptions,
  CallOptions,
  CancelOptions,
  ClientOptions,
  GenerateOptions,
  HistoryOptions,
  RequestOptions,
  ResumeOptions,
  ReuseOptions,
  StatusOptions,
} from "./options/call-options.ts";
export { ImggenFailure } from "./report-json.ts";
export type {
  BatchRow,
  BatchSummary,
  CancelResult,
  ErrorDetail,
  Estimate,
  GenerateResult,
  HistoryEntry,
  HistoryResult,
  ImageFile,
  ResumeResult,
  StatusResult,
  TaskFailure,
  TaskResult,
  TaskSuccess,
} from "./results.ts";
