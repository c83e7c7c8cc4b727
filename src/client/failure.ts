import { OutcomeUnknownError } from "../api/api-errors.ts";
import type { TaskReport } from "../core/engine/report.ts";
import { toSubmitAgain } from "../core/engine/task-error.ts";
import { ManifestError } from "../core/errors.ts";
import { type Charged, chargedByNow, type ErrorType, ImggenError } from "../lib/error-types.ts";
import type { OptionNames } from "../lib/wording.ts";
import type { FreeAt } from "../task/intent.ts";
import { isResumable } from "../task/task.ts";
import { exitCodeOf } from "./exit-codes.ts";
import type { ErrorDetail, FailureJson } from "./results.ts";
import { resumeCommand } from "./resume-command.ts";

/** The task that has failed. */
type FailedTask = Pick<TaskReport, "taskId" | "charged" | "state" | "free" | "isOnlyLost"> & {
  ledgerId?: string | null;
};

/** What a hint may name. */
interface Known {
  /** The command that resumes the task, or null if there is nothing to resume. */
  resume: string | null;
  ledgerId: string | null;
  /** A task that the reply to a submit of unknown outcome speaks of. */
  mentionedTaskId: string | null;
  names: OptionNames;
  charged: Charged;
  /** Where the task is free; undefined where it may cost something. */
  free: FreeAt | undefined;
}

/** At most two lines, of one command each at most. */
type Next = (facts: Known) => string[];

const resumeOr = (...otherwise: string[]): Next => {
  return ({ resume }) => (resume === null ? otherwise : [resumeWith(resume)]);
};

const resumeWith = (resume: string) => `Resume with: ${resume}`;

/** What to do next, where the error itself does not know better. What it cost is said before it. */
const NEXT_STEPS: Record<ErrorType, Next> = {
  internal: () => [
    "This is a bug in imggen. To see what was begun, and its cost: imggen history",
    "To finish it: imggen resume",
  ],
  usage: ({ names }) => [names.reference],
  invalid_request: () => ["To see what each model takes: imggen models"],
  budget_exceeded: () => ["Nothing was sent."],
  auth_required: ({ resume }) =>
    resume === null
      ? ["Store a key that works: imggen login"]
      : ["Store the key it was submitted with: imggen login", resumeWith(resume)],
  insufficient_credits: resumeOr("Add credits to the account, then run the same command again."),
  subscription_required: resumeOr("Upgrade the account, or choose another model: imggen models"),
  generation_failed: ({ charged, free }) =>
    charged === "no" || free
      ? ["imggen does not retry it by itself."]
      : ["imggen does not retry by itself; running it again charges again."],
  service_error: resumeOr("Try again later."),
  pending: resumeOr("Resume later: imggen resume"),
  network: () => ["Check the network and try again."],
  // Of a free reply a full disk may not have taken all.
  save_failed: ({ resume, charged }) =>
    resume === null ? [] : [`${charged === "no" ? "" : "It is not lost. "}${resumeWith(resume)}`],
  outcome_unknown: ({ ledgerId, mentionedTaskId: mentioned, free }) => {
    const steps = [
      mentioned !== null &&
        `To see whether task ${mentioned} of the reply is this request's: ${resumeCommand(mentioned)}`,
      ledgerId !== null && toSubmitAgain(ledgerId, free),
      ledgerId !== null && `To dismiss it: imggen resume ${ledgerId} --dismiss`,
    ];
    return steps.filter((step) => step !== false).slice(0, MOST_LINES);
  },
  partial: () => ["Run the same command again to resume."],
  interrupted: resumeOr(),
};

const MOST_LINES = 2;

/** Failures of the command line itself have no cost to speak of. */
const FREE: ReadonlySet<ErrorType> = new Set(["usage", "budget_exceeded", "internal"]);

function hintFor(type: ErrorType, charged: Charged, facts: Known): string {
  const cost = FREE.has(type) && charged === "no" ? "" : costText(charged, facts.free);
  const [first = "", ...more] = NEXT_STEPS[type](facts);
  return [`${cost} ${first}`.trim(), ...more].join("\n");
}

/** What to do about an error, without what it cost; empty if there is nothing to say. */
export function adviceOn(error: ImggenError, names: OptionNames): string {
  const nothingKnown = {
    resume: null,
    ledgerId: null,
    mentionedTaskId: null,
    names,
    charged: error.charged,
    free: undefined,
  };
  return error.hintFor(names) ?? NEXT_STEPS[error.type](nothingKnown).join("\n");
}

/** What an error itself advises, and how its task is resumed, where there is room for that. */
function ownHint(type: ErrorType, hint: string, resume: string | null): string {
  const advice = ended(hint);
  // Advice on a request that was refused here is about its fields alone.
  if (type === "invalid_request")
    return advice.startsWith("Nothing was") ? advice : `Nothing was sent. ${advice}`;
  const lines = advice.split("\n");
  if (resume === null || lines.length >= MOST_LINES || advice.includes(resume)) return advice;
  return [...lines, resumeWith(resume)].join("\n");
}

/** What a hint may end in that is to be pasted as it is: a command, a folder, a URL. */
const TO_PASTE = /(?::|\bsee) (?:imggen|chmod|sudo|npm) .*$|\/$|\bhttps?:\/\/\S+$/;

/** A hint with a full stop, unless it ends in what is to be pasted. */
function ended(hint: string): string {
  return TO_PASTE.test(hint) || /[.?]$/.test(hint) ? hint : `${hint}.`;
}

const COST: Record<Charged, string> = {
  no: "Nothing was charged.",
  yes: "It was charged.",
  unknown: "It may have been charged.",
};

/** What it has cost, as a sentence. Credits of the sandbox are play money. */
function costText(charged: Charged, free: FreeAt | undefined): string {
  return free === "sandbox" && charged !== "no" ? "The sandbox is free." : COST[charged];
}

/** The one table from errors to what is shown of them. @param names how it names options */
export function describeFailure(error: unknown, names: OptionNames, task?: FailedTask): FailureJson {
  const expected = expectedError(error);
  const { type, key } = expected;
  const charged = task?.charged ?? expected.charged;
  const isOpen = task && isResumable(task.state) && !task.isOnlyLost;
  const resume = isOpen && task.taskId !== null ? resumeCommand(task.taskId) : null;
  const mentionedTaskId = expected instanceof OutcomeUnknownError ? expected.mentionedTaskId : null;
  const hint = expected.hintFor(names);
  const facts = {
    resume,
    ledgerId: task?.ledgerId ?? null,
    mentionedTaskId,
    names,
    charged,
    free: task?.free,
  };
  const detail = {
    type,
    key,
    message: expected.messageFor(names),
    hint: hint === null ? hintFor(type, charged, facts) : ownHint(type, hint, resume),
    exitCode: exitCodeOf(error),
    ...(expected instanceof ManifestError && { problems: expected.problems }),
  };
  // The compiler cannot see that the exit code is the type's; `exitCodeOf` reads it from the table.
  return { ok: false, error: detail as ErrorDetail, taskId: task?.taskId ?? null, charged, resume };
}

/** An unexpected error: a bug. It is never thrown. `cause` is the error; `charged` says what it may have cost. */
class InternalError extends ImggenError {
  readonly type = "internal";
}

function expectedError(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new InternalError(`Unexpected error: ${what}`, { cause: error, charged: chargedByNow() });
}
