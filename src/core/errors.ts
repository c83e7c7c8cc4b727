import { type ErrorFacts, type ErrorType, ImggenError } from "../lib/error-types.ts";
import { isInSameScope, isSameProcess, type ProcessIdentity } from "../lib/processes.ts";
import { action, option, phrase, type Wording } from "../lib/wording.ts";
import type { Ledger } from "../store/ledger.ts";
import { GENERATOR_KEY_ID, type Intent, isAtGenerator, type ServiceIdentity } from "../task/intent.ts";
import { displayId, getCharged, type Task } from "../task/task.ts";

/** Error of an earlier step or another row that stops a task. `type` is the type of the original error. */
export class InheritedError extends ImggenError {
  readonly type: ErrorType;

  constructor(type: ErrorType, message: Wording, facts: ErrorFacts) {
    super(message, facts);
    this.type = type;
  }
}

const ACCOUNT_ERROR_TYPES: ReadonlySet<ErrorType> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
]);

/** Whether an error concerns the account, so that every other request would fail too. */
export function isAccountError({ type }: ImggenError): boolean {
  return ACCOUNT_ERROR_TYPES.has(type);
}

/** The wait ended before the task did. The task can be resumed by the id in the report. */
export class PendingError extends ImggenError {
  readonly type = "pending";
}

/** Another process is working on the task, so nothing was changed. */
export class ClaimedError extends ImggenError {
  readonly type = "pending";
}

export async function claimedError(
  task: Task,
  ledger: Pick<Ledger, "findWorker" | "processes">,
): Promise<ClaimedError> {
  const worker = describeWorker(await ledger.findWorker(task), ledger.processes.self);
  const message = `${worker} is working on task ${displayId(task)}.`;
  return new ClaimedError(message, { charged: getCharged(task) });
}

/** Returns the start of a sentence, for example "Another process (pid 4711)". @param worker null if unknown */
export function describeWorker(worker: ProcessIdentity | null, self: ProcessIdentity): string {
  if (worker === null) return "Another process";
  if (!isInSameScope(worker, self)) return `A process on host ${worker.host} (pid ${worker.pid})`;
  return isSameProcess(worker, self) ? "Another call of this process" : `Another process (pid ${worker.pid})`;
}

/** Another process took over the task because the claim had expired. This process submits nothing more. */
export class TakenOverError extends ImggenError {
  readonly type = "pending";
}

/** Another task has already submitted a request that must be submitted only once. Nothing was sent for this task. */
export class AnsweredError extends ImggenError {
  readonly type = "pending";

  /** @param other ledger id of the other task; null if unknown */
  constructor(other: string | null) {
    const submitter = other === null ? "Another process" : `Task ${other}`;
    super(`${submitter} has already submitted the same request.`, { charged: "no" });
  }
}

/** The user has cancelled the task in another process. Used as the reason of the aborted signal. */
export class CancelledError extends ImggenError {
  readonly type = "generation_failed";

  constructor() {
    super("The task was cancelled.");
  }
}

/** Some images of a task could not be made. The report lists the images that were saved. */
export class PartialError extends ImggenError {
  readonly type = "partial";
}

/** A provider sent data that is not an image. `message` is a clause. */
export class BadImageError extends ImggenError {
  readonly type = "generation_failed";
}

/** An image could not be saved. `charged`: `yes` if the task can be resumed, `no` if nothing was sent. */
export class SaveFailedError extends ImggenError {
  readonly type = "save_failed";
}

const GONE_HINT = [
  "The provider no longer has the image, so another try would fail too.",
  phrase`\nTo see the task and its request: ${action("history")}`,
];
/** Hint for an image whose URL fails and whose provider returns no new URL. */
const MAYBE_GONE_HINT = phrase`The provider returned no new URL, and may have removed the image. To try again: ${action("resume")}`;

/** An image could not be downloaded, even after all retries. Other images of the task are saved. */
export class DownloadFailedError extends SaveFailedError {
  /** Reason with the URL, from which the query was removed. */
  readonly reason: string;
  readonly isFinal: boolean;

  /** @param facts `isMissing`: the server reports no such image; `isFinal`: every retry would fail */
  constructor(reason: string, { isMissing = false, isFinal = false } = {}) {
    const hint = isFinal ? GONE_HINT : isMissing ? MAYBE_GONE_HINT : undefined;
    super(`The image could not be downloaded: ${reason}.`, { charged: "yes", hint });
    this.reason = reason;
    this.isFinal = isFinal;
  }
}

/** A part of the program is missing, for example because an upgrade replaced the program's files. Nothing was sent. */
export class NotLoadedError extends ImggenError {
  readonly type = "internal";
}

/** The request would cost more than the user allows, or has no documented cost. Nothing was sent. */
export class BudgetExceededError extends ImggenError {
  readonly type = "budget_exceeded";
}

/** A task belongs to another account than the configured one, so it was not polled. `hint` has the settings to use. */
export class OtherAccountError extends ImggenError {
  readonly type = "usage";
}

type TaskAccount = Pick<Intent, "service"> & Parameters<typeof isAtGenerator>[0];

/** @throws OtherAccountError if the task belongs to another account than the current one */
export function requireSameAccount(
  task: TaskAccount,
  current: ServiceIdentity,
  taskId: string,
  acceptsOtherKey = false,
): void {
  const { baseUrl } = task.service;
  if (baseUrl !== current.baseUrl) {
    throw new OtherAccountError(
      `Task ${taskId} was submitted to ${baseUrl}, but the base URL is ${current.baseUrl}.`,
      {
        hint: `Set IMGGEN_BASE_URL=${baseUrl} and the API key of the task, and try again.`,
        charged: "yes",
      },
    );
  }
  if (!acceptsOtherKey) requireSameKey(task, current, taskId);
}

/** @throws OtherAccountError for another key than the task's. For a generator, a missing key matches every key. */
export function requireSameKey(task: TaskAccount, { keyId }: ServiceIdentity, taskId: string): void {
  const taskKeyId = task.service.keyId;
  const isGenerator = isAtGenerator(task);
  if (taskKeyId === keyId || (isGenerator && [taskKeyId, keyId].includes(GENERATOR_KEY_ID))) return;
  const message = `Task ${taskId} was submitted with another API key: its fingerprint is ${taskKeyId}, and the current key's is ${keyId}.`;
  const variable = isGenerator ? "IMGGEN_GENERATOR_KEY" : "IMGGEN_API_KEY";
  throw new OtherAccountError(message, {
    hint: [
      `Set ${variable} to that key and try again.`,
      phrase`If the current key replaces it, continue with ${option("yes")}.`,
    ],
    charged: "yes",
  });
}

/** The provider of a task is not installed, or unknown to this version, so the task cannot be continued. */
export class MissingProviderError extends ImggenError {
  readonly type = "outcome_unknown";
}

/** Problem of a manifest. A single problem prevents every submit of the batch. */
export interface ManifestProblem {
  line: number;
  message: string;
}

const MAX_SHOWN_PROBLEMS = 100;

/** Some rows cannot be sent, so nothing was sent. `problems` has all problems, `message` the first 100. */
export class ManifestError extends ImggenError {
  readonly type = "invalid_request";
  readonly problems: readonly ManifestProblem[];

  constructor(problems: readonly ManifestProblem[]) {
    const lines = problems
      .slice(0, MAX_SHOWN_PROBLEMS)
      .map(({ line, message }) => `line ${line}: ${message.replace(/(?<![.?])$/, ".")}`);
    const hiddenCount = problems.length - lines.length;
    if (hiddenCount > 0) lines.push(`… and ${hiddenCount} more.`);
    const count = problems.length === 1 ? "1 problem" : `${problems.length} problems`;
    super(`The manifest has ${count}.\n${lines.join("\n")}`, { hint: "Nothing was sent." });
    this.problems = problems;
  }
}
