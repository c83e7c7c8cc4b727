import { type Charged, type ErrorFacts, ImggenError } from "./error-types.ts";

export type InterruptSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/**
 * The user, the system or the calling program aborted the run. It is the abort reason of the run's signal; `charged`
 * is the known cost of an unfinished task.
 */
export class InterruptedError extends ImggenError {
  readonly type = "interrupted";
  /** null: a calling program aborted its own call. */
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

/** The error of an aborted task, with its known cost. Any other abort reason counts as Ctrl-C. */
export function interruptedError({ reason }: AbortSignal, charged: Charged): InterruptedError {
  const signal = reason instanceof InterruptedError ? reason.signal : "SIGINT";
  return new InterruptedError(signal, { charged, cause: reason });
}
