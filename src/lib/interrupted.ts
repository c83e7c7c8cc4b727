import { type Charged, type ErrorFacts, ImggenError } from "./error-types.ts";

export type InterruptSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** Abort reason of a run that the user, the system or the calling program aborted. */
export class InterruptedError extends ImggenError {
  readonly type = "interrupted";
  readonly signal: InterruptSignal | null;

  constructor(signal: InterruptSignal | null, facts: ErrorFacts = {}) {
    super(signal === null ? "The call was aborted." : `Interrupted by ${signal}.`, facts);
    this.signal = signal;
  }
}

export function isCtrlC({ reason }: AbortSignal): boolean {
  return reason instanceof InterruptedError && reason.signal === "SIGINT";
}

/** An abort reason that is not an `InterruptedError` counts as Ctrl-C. */
export function interruptedError({ reason }: AbortSignal, charged: Charged): InterruptedError {
  const signal = reason instanceof InterruptedError ? reason.signal : "SIGINT";
  return new InterruptedError(signal, { charged, cause: reason });
}
