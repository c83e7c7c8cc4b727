// The public API of the package: what the command line is built on, with no terminal in it.

export { HttpClient, type HttpClientOptions } from "../api/client.ts";
export { Service, type ServiceOptions } from "../api/service.ts";
export { type Clock, systemClock } from "../lib/clock.ts";
export { type Charged, type ErrorType, ImggenError } from "../lib/errors.ts";
export { keyFingerprint } from "../lib/fingerprint.ts";
export { type Processes, systemProcesses } from "../lib/processes.ts";
export { type CheckOptions, checkRequest } from "../models/check.ts";
export { documentedCost } from "../models/cost.ts";
export { findModels, type ModelFilter, nearestModels, resolveModel } from "../models/find.ts";
export { MODELS, type Model } from "../models/matrix.ts";
export type { CheckedRequest, GenerationRequest, RequestDraft } from "../models/request.ts";
export { Ledger } from "../store/ledger.ts";
export type { LedgerEntry } from "../store/ledger-entry.ts";
export type { Destination, SavedFile, ServiceIdentity, TaskRecord } from "../store/task.ts";
export { checkBudget } from "./budget.ts";
export {
  automaticCadence,
  type Cadence,
  type CompletionInterval,
  learnedCadence,
  uniformCadence,
} from "./cadence.ts";
export { Cadences } from "./cadences.ts";
export type { Connection, TaskDeps } from "./deps.ts";
export { type DestinationWish, resolveDestination } from "./destination.ts";
export { InterruptedError } from "./errors.ts";
export type { OnTaskProgress, TaskProgressEvent } from "./events.ts";
export { type GenerateOrder, generate } from "./generate.ts";
export { recentTasks } from "./history.ts";
export type { TaskReport } from "./report.ts";
export { type ResumeDeps, type ResumeOptions, resumeById, resumeRecord } from "./resume.ts";
export { type StatusOptions, taskStatus } from "./status.ts";
export type { WaitSettings } from "./wait-settings.ts";
