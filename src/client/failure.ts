import { OutcomeUnknownError } from "../api/api-errors.ts";
import type { TaskReport } from "../core/engine/report.ts";
import { resubmitAdvice } from "../core/engine/task-error.ts";
import { ManifestError } from "../core/errors.ts";
import { type Charged, type ErrorType, ImggenError, possibleCharge } from "../lib/error-types.ts";
import {
  action,
  formatWording,
  phrase,
  resumeCommand,
  type Vocabulary,
  type Wording,
} from "../lib/wording.ts";
import type { FreeProvider } from "../task/intent.ts";
import { isResumable } from "../task/task.ts";
import { getExitCode } from "./exit-codes.ts";
import type { ErrorDetail, FailureJson } from "./results.ts";

type FailedTask = Pick<TaskReport, "taskId" | "charged" | "state" | "free" | "isOnlyLost"> & {
  ledgerId?: string | null;
};

/** Facts that a hint may name. */
interface HintFacts {
  /** The task to resume, or null if there is nothing to resume. */
  resume: string | null;
  ledgerId: string | null;
  /** Task named in the reply to a submit of unknown outcome. */
  mentionedTaskId: string | null;
  charged: Charged;
  /** Reason that the task is free; undefined if it may cost something. */
  free: FreeProvider | undefined;
}

/** At most two lines, of one command each at most. */
type NextSteps = (facts: HintFacts) => Wording[];

const resumeOr = (...otherwise: Wording[]): NextSteps => {
  return ({ resume }) => (resume === null ? otherwise : [resumeWith(resume)]);
};

const resumeWith = (taskId: string) => phrase`Resume with: ${action("resume", taskId)}`;

/** Next steps for errors without a hint of their own. The cost comes before them. */
const NEXT_STEPS: Record<ErrorType, NextSteps> = {
  internal: () => [
    phrase`This is a bug in imggen. To list the tasks and their cost: ${action("history")}`,
    phrase`To finish it: ${action("resume")}`,
  ],
  usage: () => [phrase`${action("reference")}`],
  invalid_request: () => [phrase`To see what each model takes: ${action("models")}`],
  budget_exceeded: () => ["Nothing was sent."],
  auth_required: ({ resume }) =>
    resume === null
      ? [phrase`Store a key that works: ${action("run", "login")}`]
      : [phrase`Store the key it was submitted with: ${action("run", "login")}`, resumeWith(resume)],
  insufficient_credits: resumeOr(phrase`Add credits to the account, then ${action("repeat")}.`),
  subscription_required: resumeOr(phrase`Upgrade the account, or choose another model: ${action("models")}`),
  generation_failed: ({ charged, free }) =>
    charged === "no" || free
      ? ["imggen does not retry it by itself."]
      : [phrase`imggen does not retry by itself; ${action("repeated")} charges again.`],
  service_error: resumeOr("Try again later."),
  pending: resumeOr(phrase`Resume later: ${action("resume")}`),
  network: () => ["Check the network and try again."],
  // On a full disk, a part of a free reply may be lost.
  save_failed: ({ resume, charged }) =>
    resume === null ? [] : [[charged === "no" ? "" : "It is not lost.", resumeWith(resume)]],
  outcome_unknown: ({ ledgerId, mentionedTaskId: mentioned, free }) => {
    const checkAdvice = mentioned !== null && [
      phrase`To see whether task ${mentioned} of the reply is this request's: ${action("resume", mentioned)}`,
    ];
    const dismissAdvice = ledgerId !== null && [phrase`To dismiss it: ${action("dismiss", ledgerId)}`];
    return [...(checkAdvice || []), ...resubmitAdvice(ledgerId, free), ...(dismissAdvice || [])].slice(
      0,
      MAX_LINES,
    );
  },
  partial: () => [phrase`${action("repeat")} to resume.`],
  interrupted: resumeOr(),
};

const MAX_LINES = 2;

/** Failures of the command line itself have no cost to speak of. */
const COSTLESS_TYPES: ReadonlySet<ErrorType> = new Set(["usage", "budget_exceeded", "internal"]);

function hintFor(type: ErrorType, facts: HintFacts, words: Vocabulary): string {
  const cost = COSTLESS_TYPES.has(type) && facts.charged === "no" ? "" : costText(facts.charged, facts.free);
  const [first = "", ...more] = NEXT_STEPS[type](facts).map((step) => formatWording(step, words));
  return [`${cost} ${first}`.trim(), ...more].filter(Boolean).join("\n");
}

/** Next step after an error, without its cost; may be empty. */
export function getAdvice(error: ImggenError, words: Vocabulary): string {
  const facts = { resume: null, ledgerId: null, mentionedTaskId: null, free: undefined };
  const { hint = NEXT_STEPS[error.type]({ ...facts, charged: error.charged }) } = error.wording;
  return formatWording(hint, words);
}

/** Hint of the error itself, with the command to resume its task if a line is left for it. */
function extendHint(type: ErrorType, hint: string, resume: string | null, words: Vocabulary): string {
  const advice = withFullStop(hint);
  // Advice on a request that was refused here is about its fields alone.
  if (type === "invalid_request")
    return advice.startsWith("Nothing was") ? advice : `Nothing was sent. ${advice}`;
  const lines = advice.split("\n");
  if (resume === null || lines.length >= MAX_LINES) return advice;
  const resumeHint = formatWording(resumeWith(resume), words);
  return advice.includes(words.actions.resume(resume) ?? resumeHint)
    ? advice
    : [...lines, resumeHint].join("\n");
}

/** Ends of hints that users paste: a command, a folder, a URL. A full stop would break them. */
const PASTED_ENDING = /(?::|\bsee) (?:imggen|chmod|sudo|npm) .*$|\/$|\bhttps?:\/\/\S+$/;

/** Adds a full stop, unless the hint ends in text to paste. */
function withFullStop(hint: string): string {
  return PASTED_ENDING.test(hint) || /[.?]$/.test(hint) ? hint : `${hint}.`;
}

const COST: Record<Charged, string> = {
  no: "Nothing was charged.",
  yes: "It was charged.",
  unknown: "It may have been charged.",
};

/** Cost of a run, as a sentence. */
function costText(charged: Charged, free: FreeProvider | undefined): string {
  return free === "sandbox" ? "The sandbox is free." : COST[charged];
}

/** Failure document of an error, for JSON and for people. */
export function describeFailure(error: unknown, words: Vocabulary, task?: FailedTask): FailureJson {
  const expected = toImggenError(error);
  const { type, key } = expected;
  const charged = task?.charged ?? expected.charged;
  const isOpen = task && isResumable(task.state) && !task.isOnlyLost;
  const resume = isOpen ? task.taskId : null;
  const mentionedTaskId = expected instanceof OutcomeUnknownError ? expected.mentionedTaskId : null;
  const { message, hint = "" } = expected.wording;
  const advice = formatWording(hint, words);
  const facts = { resume, ledgerId: task?.ledgerId ?? null, mentionedTaskId, charged, free: task?.free };
  const detail = {
    type,
    key,
    message: formatWording(message, words),
    hint: advice === "" ? hintFor(type, facts, words) : extendHint(type, advice, resume, words),
    exitCode: getExitCode(error),
    ...(expected instanceof ManifestError && { problems: expected.problems }),
  };
  return {
    ok: false,
    // The compiler cannot see that the exit code is the type's; `getExitCode` reads it from the table.
    error: detail as ErrorDetail,
    taskId: task?.taskId ?? null,
    charged,
    resume: resume === null ? null : resumeCommand(resume),
  };
}

/** A bug. Never thrown: wraps an unexpected error as its `cause`, for display. */
class InternalError extends ImggenError {
  readonly type = "internal";
}

function toImggenError(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new InternalError(`Unexpected error: ${message}`, { cause: error, charged: possibleCharge() });
}
