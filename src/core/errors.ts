import { type Charged, type ErrorFacts, ImggenError } from "../lib/errors.ts";

/** The wait is over and the task is not: it is still running, and can be picked up later. */
export class PendingError extends ImggenError {
  readonly type = "pending";
}

/** Another process found this one overdue, and has the task now. Nothing was submitted since. */
export class TakenOverError extends ImggenError {
  readonly type = "pending";
}

/** An image is paid for but could not be fetched or written; or the output place is unusable beforehand. */
export class SaveFailedError extends ImggenError {
  readonly type = "save_failed";
}

/** One image could not be downloaded. The disk is not at fault, so the task's other images may still be saved. */
export class DownloadFailedError extends SaveFailedError {
  /** Why, and the URL without its query. */
  readonly reason: string;

  constructor(reason: string) {
    super(`The image could not be downloaded: ${reason}.`, { charged: "yes" });
    this.reason = reason;
  }
}

/** The request would cost more than the user allows, or nobody can say what it costs. */
export class BudgetExceededError extends ImggenError {
  readonly type = "budget_exceeded";
}

export type InterruptSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The user or the system asked the program to stop. */
export class InterruptedError extends ImggenError {
  readonly type = "interrupted";
  readonly signal: InterruptSignal;

  constructor(signal: InterruptSignal, facts: ErrorFacts = {}) {
    super(`Interrupted by ${signal}.`, facts);
    this.signal = signal;
  }
}

/** An aborted signal as a task's error, with what the task has cost by then. Any other reason counts as Ctrl-C. */
export function interruption({ reason }: AbortSignal, charged: Charged): InterruptedError {
  const signal = reason instanceof InterruptedError ? reason.signal : "SIGINT";
  return new InterruptedError(signal, { charged, cause: reason });
}
