import { type ErrorFacts, type ErrorType, ImggenError } from "../lib/error-types.ts";
import { isInSameScope, isSameProcess, type ProcessIdentity } from "../lib/processes.ts";
import { action, option, phrase, type Wording } from "../lib/wording.ts";
import type { Ledger } from "../store/ledger.ts";
import { GENERATOR_KEY_ID, type Intent, isAtGenerator, type ServiceIdentity } from "../task/intent.ts";
import { displayId, getCharged, type Task } from "../task/task.ts";

/** An earlier error, or another row's, that keeps a task from continuing. It has the same `type`; `cause` is the first error. */
export class InheritedError extends ImggenError {
  readonly type: ErrorType;

  constructor(type: ErrorType, message: Wording, facts: ErrorFacts) {
    super(message, facts);
    this.type = type;
  }
}

const OF_ACCOUNT: ReadonlySet<ErrorType> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
]);

/** Whether an error concerns the account, so that every other request would fail alike. */
export function isAccountError({ type }: ImggenError): boolean {
  return OF_ACCOUNT.has(type);
}

/** The wait ended before the task did: it is still running, and can be resumed. It ends a wait; the report has the task id. */
export class PendingError extends ImggenError {
  readonly type = "pending";
}

/** Another process is working on the task. It ends an attempt to continue the task, which stays as it is. */
export class ClaimedError extends ImggenError {
  readonly type = "pending";
}

/** The error for a task that another process has, or another call of this one. */
export async function claimedError(
  task: Task,
  ledger: Pick<Ledger, "findWorker" | "processes">,
): Promise<ClaimedError> {
  const worker = describeWorker(await ledger.findWorker(task), ledger.processes.self);
  const message = `${worker} is working on task ${displayId(task)}.`;
  return new ClaimedError(message, { charged: getCharged(task) });
}

/** Describes who is working on a task, to begin a sentence: "Another process (pid 4711)". @param worker null: not known */
export function describeWorker(worker: ProcessIdentity | null, self: ProcessIdentity): string {
  if (worker === null) return "Another process";
  if (!isInSameScope(worker, self)) return `A process on host ${worker.host} (pid ${worker.pid})`;
  return isSameProcess(worker, self) ? "Another call of this process" : `Another process (pid ${worker.pid})`;
}

/**
 * Another process took the task over because this one's claim had expired. It ends a submit that was about to be sent: this
 * process has submitted nothing since, and writes no more to the task's file.
 */
export class TakenOverError extends ImggenError {
  readonly type = "pending";
}

/** Another task answers for the request of this one, which was to be submitted only if none does. Nothing was sent. */
export class AnsweredError extends ImggenError {
  readonly type = "pending";

  /** @param other ledger id of that task; null if it is not known which one it is */
  constructor(other: string | null) {
    const who = other === null ? "Another process" : `Task ${other}`;
    super(`${who} has the same request.`, { charged: "no" });
  }
}

/**
 * The user has cancelled the task from another process. It is the reason of the aborted signal, and ends a task that
 * waits.
 */
export class CancelledError extends ImggenError {
  readonly type = "generation_failed";

  constructor() {
    super("The task was cancelled.");
  }
}

/** Some of a task's images could not be made; the others are saved. It ends a task; the report has the files. */
export class PartialError extends ImggenError {
  readonly type = "partial";
}

/** A provider has sent something that is not an image. Thrown for one image, while it is saved; `message` is a clause. */
export class BadImageError extends ImggenError {
  readonly type = "generation_failed";
}

/**
 * A charged image could not be downloaded or written (`charged` is `yes`, and the task can be resumed), or the output folder
 * cannot be used (found before the submit, `charged` is `no`). `cause` is the disk's error, if there was one.
 */
export class SaveFailedError extends ImggenError {
  readonly type = "save_failed";
}

const GONE = [
  "Its provider no longer has it, so another try would fail too.",
  phrase`\nTo see the task and its request: ${action("history")}`,
];
/** Nothing is promised of an image whose URL does not work, while its provider gives no other. */
const PERHAPS_GONE = phrase`Its provider gave no new URL, and may have removed it. To ask again: ${action("resume")}`;

/** One image could not be downloaded, after all retries. Thrown for that image alone: the others are saved. */
export class DownloadFailedError extends SaveFailedError {
  /** Reason, and the URL without its query. */
  readonly reason: string;
  readonly isFinal: boolean;

  /** @param facts.isMissing whether its server says that it has no such image @param facts.isFinal whether it always will */
  constructor(reason: string, { isMissing = false, isFinal = false } = {}) {
    const hint = isFinal ? GONE : isMissing ? PERHAPS_GONE : undefined;
    super(`The image could not be downloaded: ${reason}.`, { charged: "yes", hint });
    this.reason = reason;
    this.isFinal = isFinal;
  }
}

/** A part of the program is missing, as where it was replaced while it ran. Thrown before anything is sent. */
export class NotLoadedError extends ImggenError {
  readonly type = "internal";
}

/** The request would cost more than the user allows, or its cost is not documented. Thrown before anything is sent. */
export class BudgetExceededError extends ImggenError {
  readonly type = "budget_exceeded";
}

/** A task belongs to another account than the configured one. Thrown before the task is polled; `hint` names what it needs. */
export class OtherAccountError extends ImggenError {
  readonly type = "usage";
}

type TaskAccount = Pick<Intent, "service"> & Parameters<typeof isAtGenerator>[0];

/** @throws OtherAccountError if a task's account is not the configured one, saying what is needed */
export function requireSameAccount(
  task: TaskAccount,
  atHand: ServiceIdentity,
  taskId: string,
  acceptsOtherKey = false,
): void {
  const { baseUrl } = task.service;
  if (baseUrl !== atHand.baseUrl) {
    throw new OtherAccountError(`Task ${taskId} is at ${baseUrl}, not at ${atHand.baseUrl}.`, {
      hint: `Set IMGGEN_BASE_URL=${baseUrl} (and the key it was submitted with) and try again.`,
      charged: "yes",
    });
  }
  if (!acceptsOtherKey) requireSameKey(task, atHand, taskId);
}

/** @throws OtherAccountError if a task was submitted with another key. No key at all is none */
export function requireSameKey(task: TaskAccount, { keyId }: ServiceIdentity, taskId: string): void {
  const ofTask = task.service.keyId;
  const isGenerator = isAtGenerator(task);
  if (ofTask === keyId || (isGenerator && [ofTask, keyId].includes(GENERATOR_KEY_ID))) return;
  const message = `Task ${taskId} was submitted with another API key: its fingerprint is ${ofTask}, and ${keyId} is in effect.`;
  const variable = isGenerator ? "IMGGEN_GENERATOR_KEY" : "IMGGEN_API_KEY";
  throw new OtherAccountError(message, {
    hint: [
      `Set ${variable} to that key and try again.`,
      phrase`If it was replaced by the new one, continue with ${option("yes")}.`,
    ],
    charged: "yes",
  });
}

/**
 * The provider of a task is not installed, or not known to this version: the task cannot be continued until it is.
 * `message` says what is missing.
 */
export class MissingProviderError extends ImggenError {
  readonly type = "outcome_unknown";
}

/** A problem in the manifest; with any, nothing of the batch is sent. */
export interface ManifestProblem {
  line: number;
  /** Without the number of the line, and mostly without a full stop. */
  message: string;
}

const MAX_SHOWN = 100;

/** Rows of a manifest that cannot be sent, so nothing was. Thrown once all are read: `problems` has every one, `message` 100. */
export class ManifestError extends ImggenError {
  readonly type = "invalid_request";
  readonly problems: readonly ManifestProblem[];

  constructor(problems: readonly ManifestProblem[]) {
    const lines = problems
      .slice(0, MAX_SHOWN)
      .map(({ line, message }) => `line ${line}: ${message.replace(/(?<![.?])$/, ".")}`);
    const more = problems.length - lines.length;
    if (more > 0) lines.push(`… and ${more} more.`);
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(`The manifest has ${count}.\n${lines.join("\n")}`, { hint: "Nothing was sent." });
    this.problems = problems;
  }
}
