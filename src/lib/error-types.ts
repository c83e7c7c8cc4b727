import { FLAG_NAMES, type OptionNames, type Wording, worded } from "./wording.ts";

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

export interface ErrorFacts {
  /** What to do next, as one plain sentence or a command to paste. */
  hint?: Wording | undefined;
  /** The service's own error key, where it gave one. */
  key?: string | undefined;
  charged?: Charged | undefined;
  cause?: unknown;
}

/**
 * Every failure that imggen expects; anything else that is thrown is a bug. A catcher may read:
 * - `type`: what to branch on; it decides the exit code
 * - `message` and `hint`: for a person, with the flags of the command line; `messageFor` and `hintFor` name options otherwise
 * - `key`: the service's own error key; null if it gave none
 * - `charged`: what the failed request cost, as far as that is known
 * - `cause`: what was thrown below, if anything was
 *
 * Thrown where a command cannot continue. A submit, a poll or a task never throws it: the reply or the report has it.
 */
export abstract class ImggenError extends Error {
  abstract readonly type: ErrorType;
  readonly hint: string | null;
  readonly key: string | null;
  readonly charged: Charged;
  readonly #message: Wording;
  readonly #hint: Wording | undefined;

  constructor(message: Wording, facts: ErrorFacts = {}) {
    super(worded(message, FLAG_NAMES), facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = new.target.name;
    this.#message = message;
    this.#hint = facts.hint;
    this.hint = this.hintFor(FLAG_NAMES);
    this.key = facts.key ?? null;
    this.charged = facts.charged ?? "no";
  }

  /** The message for a reader who knows options by these names. */
  messageFor(names: OptionNames): string {
    return worded(this.#message, names);
  }

  hintFor(names: OptionNames): string | null {
    return this.#hint === undefined ? null : worded(this.#hint, names);
  }
}

/** The command line, the environment or the settings are invalid. Thrown before anything is sent; `charged` is `no`. */
export class UsageError extends ImggenError {
  readonly type = "usage";
}
