import { COMMAND_WORDS, type Wording, worded } from "./wording.ts";

/** `unknown` is a legitimate answer; a guess is not. */
export type Charged = "yes" | "no" | "unknown";

/** Whether this process has touched a task: from then on, an unexpected error may concern a charged one. */
let mayHaveCharged = false;

export function noteTask(): void {
  mayHaveCharged = true;
}

/** The possible cost of an unexpected error. */
export function chargedByNow(): Charged {
  return mayHaveCharged ? "unknown" : "no";
}

/** The `error.type` of the JSON output, for scripts to branch on. */
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

/** The code of a provider's refusal, and the field of the request that it is about; each absent if the provider names none. */
export interface RefusalDetails {
  code?: string;
  param?: string;
}

export interface ErrorFacts {
  /** The next step, as one plain sentence or a command to paste. */
  hint?: Wording | undefined;
  /** The service's own error key, if any. */
  key?: string | undefined;
  details?: RefusalDetails | undefined;
  charged?: Charged | undefined;
  cause?: unknown;
}

/**
 * An expected failure; anything else that is thrown is a bug. A catcher may read:
 * - `type`: decides the exit code
 * - `message` and `hint`: in the terms of the command line; `wording` has both for any face
 * - `key`: the service's own error key, if any
 * - `details`: the code and the field that a provider names in a refusal
 * - `charged`: the cost of the failed request
 * - `cause`: the underlying error
 * Thrown if a command cannot continue. Submits, polls and tasks return their errors instead.
 */
export abstract class ImggenError extends Error {
  abstract readonly type: ErrorType;
  readonly hint: string | null;
  readonly key: string | null;
  readonly details: RefusalDetails;
  readonly charged: Charged;
  readonly #said: ErrorWording;

  constructor(message: Wording, facts: ErrorFacts = {}) {
    super(worded(message, COMMAND_WORDS), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.#said = { message, hint: facts.hint };
    this.hint = facts.hint === undefined ? null : worded(facts.hint, COMMAND_WORDS);
    this.key = facts.key ?? null;
    this.details = facts.details ?? {};
    this.charged = facts.charged ?? "no";
  }

  get wording(): ErrorWording {
    return this.#said;
  }
}

/** Message and hint before a face has worded them. */
interface ErrorWording {
  readonly message: Wording;
  readonly hint: Wording | undefined;
}

/** Invalid command line, environment or settings. Thrown before a request is sent. */
export class UsageError extends ImggenError {
  readonly type = "usage";
}
