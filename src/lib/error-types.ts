import { COMMAND_WORDS, type Wording, worded } from "./wording.ts";

/** Whether a request was charged, as far as can be known. `unknown` is an answer; a guess is not. */
export type Charged = "yes" | "no" | "unknown";

/** Whether this process has written to a task, or asked for one: from then on a bug may concern something charged. */
let mayHaveCharged = false;

/** Called before a task is begun, taken over or polled. */
export function noteTask(): void {
  mayHaveCharged = true;
}

/** What an unexpected error may have cost. */
export function chargedByNow(): Charged {
  return mayHaveCharged ? "unknown" : "no";
}

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

/** The code of a provider's refusal, and the field of the request that it is about; each absent if the provider names none. */
export interface RefusalDetails {
  code?: string;
  param?: string;
}

export interface ErrorFacts {
  /** What to do next, as one plain sentence or a command to paste. */
  hint?: Wording | undefined;
  /** The service's own error key, where it gave one. */
  key?: string | undefined;
  details?: RefusalDetails | undefined;
  charged?: Charged | undefined;
  cause?: unknown;
}

/**
 * Every failure that imggen expects; anything else that is thrown is a bug. A catcher may read:
 * - `type`: what to branch on; it decides the exit code
 * - `message` and `hint`: for a person, in the words of the command line; `said` has both for the words of any face
 * - `key`: the service's own error key; null if it gave none
 * - `details`: the code and the field that a provider names in a refusal
 * - `charged`: what the failed request cost, as far as that is known
 * - `cause`: what was thrown below, if anything was
 *
 * Thrown where a command cannot continue. A submit, a poll or a task never throws it: the reply or the report has it.
 */
export abstract class ImggenError extends Error {
  abstract readonly type: ErrorType;
  readonly hint: string | null;
  readonly key: string | null;
  readonly details: RefusalDetails;
  readonly charged: Charged;
  readonly #said: Said;

  constructor(message: Wording, facts: ErrorFacts = {}) {
    super(worded(message, COMMAND_WORDS), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.#said = { message, hint: facts.hint };
    this.hint = facts.hint === undefined ? null : worded(facts.hint, COMMAND_WORDS);
    this.key = facts.key ?? null;
    this.details = facts.details ?? {};
    this.charged = facts.charged ?? "no";
  }

  get said(): Said {
    return this.#said;
  }
}

/** What an error says, before a face has worded it. */
interface Said {
  readonly message: Wording;
  readonly hint: Wording | undefined;
}

/** The command line, the environment or the settings are invalid. Thrown before anything is sent; `charged` is `no`. */
export class UsageError extends ImggenError {
  readonly type = "usage";
}
