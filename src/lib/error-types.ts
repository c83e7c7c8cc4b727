import { COMMAND_VOCABULARY, formatWording, type Wording } from "./wording.ts";

/** Whether a request was charged. Use `unknown` unless the answer is certain. */
export type Charged = "yes" | "no" | "unknown";

/** Whether this process has opened a task. If so, an unexpected error leaves the charge unknown. */
let mayHaveCharged = false;

export function markTaskOpened(): void {
  mayHaveCharged = true;
}

export function possibleCharge(): Charged {
  return mayHaveCharged ? "unknown" : "no";
}

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

export interface RefusalDetails {
  code?: string;
  param?: string;
}

export interface ErrorFacts {
  /** Next step for the user, as a sentence or a command. */
  hint?: Wording | undefined;
  key?: string | undefined;
  details?: RefusalDetails | undefined;
  charged?: Charged | undefined;
  cause?: unknown;
}

/**
 * An expected failure; any other exception is a bug. Functions that submit, poll or run a task return it and do not
 * throw it. `message` and `hint` are for the command line, `wording` for other interfaces. `type` sets the exit code.
 */
export abstract class ImggenError extends Error {
  abstract readonly type: ErrorType;
  readonly hint: string | null;
  readonly key: string | null;
  readonly details: RefusalDetails;
  readonly charged: Charged;
  readonly #wording: ErrorWording;

  constructor(message: Wording, facts: ErrorFacts = {}) {
    super(
      formatWording(message, COMMAND_VOCABULARY),
      facts.cause === undefined ? undefined : { cause: facts.cause },
    );
    this.name = new.target.name;
    this.#wording = { message, hint: facts.hint };
    this.hint = facts.hint === undefined ? null : formatWording(facts.hint, COMMAND_VOCABULARY);
    this.key = facts.key ?? null;
    this.details = facts.details ?? {};
    this.charged = facts.charged ?? "no";
  }

  get wording(): ErrorWording {
    return this.#wording;
  }
}

interface ErrorWording {
  readonly message: Wording;
  readonly hint: Wording | undefined;
}

/** Invalid command line, environment or settings. Thrown before a request is sent. */
export class UsageError extends ImggenError {
  readonly type = "usage";
}
