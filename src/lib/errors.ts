/** Whether a request was charged, as far as can be known. `unknown` is an answer; a guess is not. */
export type Charged = "yes" | "no" | "unknown";

/** The `error.type` of the JSON output: one word a script can branch on. */
export type ErrorType =
  | "internal"
  | "usage"
  | "invalid_request"
  | "budget_exceeded"
  | "auth_required"
  | "insufficient_credits"
  | "subscription_required"
  | "generation_failed"
  | "service_error"
  | "pending"
  | "network"
  | "save_failed"
  | "outcome_unknown"
  | "partial"
  | "interrupted";

export interface ErrorFacts {
  /** What to do next, as one plain sentence or a command to paste. */
  hint?: string | undefined;
  /** The service's own error key, where it gave one. */
  key?: string | undefined;
  charged?: Charged | undefined;
  cause?: unknown;
}

/** Every failure that imggen expects. Anything else that is thrown is a bug. */
export abstract class ImggenError extends Error {
  abstract readonly type: ErrorType;
  readonly hint: string | null;
  readonly key: string | null;
  readonly charged: Charged;

  constructor(message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.hint = facts.hint ?? null;
    this.key = facts.key ?? null;
    this.charged = facts.charged ?? "no";
  }
}

/** The command line, the environment or the settings are invalid. */
export class UsageError extends ImggenError {
  readonly type = "usage";
}
