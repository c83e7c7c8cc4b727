// The public API of the package: what the command line is built on, with no terminal in it.

export { HttpClient, type HttpClientOptions } from "../api/client.ts";
export { HttpImageService, type ServiceOptions } from "../api/service.ts";
export { type Clock, systemClock } from "../lib/clock.ts";
export { type Charged, type ErrorType, ImggenError } from "../lib/errors.ts";
export { keyFingerprint } from "../lib/fingerprint.ts";
export { type Processes, systemProcesses } from "../lib/processes.ts";
export { type CheckOptions, checkRequest } from "../models/check.ts";
export { documentedCost } from "../models/cost.ts";
export { findModels, type ModelFilter, nearestModels, resolveModel } from "../models/find.ts";
export { MODELS, type Model } from "../models/matrix.ts";
export { Ledger } from "../store/ledger.ts";
export type { LedgerEntry } from "../store/ledger-entry.ts";
export type { Destination } from "../task/destination.ts";
export type { ServiceIdentity } from "../task/intent.ts";
export type { TaskRecord } from "../task/record.ts";
export type { CheckedRequest, GenerationRequest, RequestDraft } from "../task/request.ts";
export type { SavedFile } from "../task/saved-file.ts";
export type { Connection, TaskDeps } from "./deps.ts";
export { InterruptedError } from "./errors.ts";
export { type DestinationOptions, resolveDestination } from "./images/destination.ts";
export { checkBudget } from "./limits/request-budget.ts";
export {
  type CompletionInterval,
  defaultSchedule,
  fixedSchedule,
  learnedSchedule,
  type PollingSchedule,
} from "./polling/index.ts";
export { PollingSchedules } from "./polling/schedules.ts";
export type { WaitSettings } from "./polling/wait-settings.ts";
export { type GenerateOrder, generate } from "./task/generate.ts";
export { recentTasks } from "./task/history.ts";
export type { HistoryFilter, HistoryStatus } from "./task/history-filter.ts";
export type { OnTaskProgress, TaskProgressEvent } from "./task/progress-events.ts";
export type { TaskReport } from "./task/report.ts";
export { type ResumeDeps, type ResumeOptions, resumeById, resumeRecord } from "./task/resume.ts";
export { type StatusOptions, taskStatus } from "./task/status.ts";
