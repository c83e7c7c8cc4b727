import { type Charged, type ErrorFacts, ImggenError } from "./error-types.ts";

export type InterruptSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/**
 * The user, the system or the calling program asked to stop. It is the reason of the run's signal, and is thrown by what the
 * signal ends. `charged` says what is known of the cost of an unfinished task.
 */
export class InterruptedError extends ImggenError {
  readonly type = "interrupted";
  /** null if a program has aborted its own call. */
  readonly signal: InterruptSignal | null;

  constructor(signal: InterruptSignal | null, facts: ErrorFacts = {}) {
    super(signal === null ? "The call was aborted." : `Interrupted by ${signal}.`, facts);
    this.signal = signal;
  }
}

/** Whether a signal was aborted by Ctrl-C. */
export function isCtrlC({ reason }: AbortSignal): boolean {
  return reason instanceof InterruptedError && reason.signal === "SIGINT";
}

/** The error of a task whose signal was aborted, with what is charged so far. Any other reason counts as Ctrl-C. */
export function interruptedError({ reason }: AbortSignal, charged: Charged): InterruptedError {
  const signal = reason instanceof InterruptedError ? reason.signal : "SIGINT";
  return new InterruptedError(signal, { charged, cause: reason });
}
