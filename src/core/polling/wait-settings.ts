import type { GenerationRequest } from "../../task/request.ts";
import type { PollingSchedule } from "./index.ts";

export interface WaitSettings {
  /** How long to wait for the result, milliseconds; null: the default for the request. */
  timeoutMs: number | null;
  /** null: the automatic schedule, which learns from the history. */
  schedule: PollingSchedule | null;
}

// The reference client's 60 polls, 3 s apart (section 4.2); the largest images take longer.
const TIMEOUT_MS = 180_000;
const TIMEOUT_4K_MS = 600_000;

/** How long to wait for a request's result. Default: 180 s, and 600 s for 4K. */
export function waitTimeoutMs(settings: WaitSettings, request: GenerationRequest | null): number {
  return settings.timeoutMs ?? (request?.quality === "4K" ? TIMEOUT_4K_MS : TIMEOUT_MS);
}
