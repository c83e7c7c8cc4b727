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

interface HintFacts {
  resume: string | null;
  ledgerId: string | null;
  mentionedTaskId: string | null;
  charged: Charged;
  free: FreeProvider | undefined;
}

/** Returns the hint after an error: at most two lines, with at most one command each. */
type NextSteps = (facts: HintFacts) => Wording[];

const resumeOr = (...fallbackLines: Wording[]): NextSteps => {
  return ({ resume }) => (resume === null ? fallbackLines : [resumeWith(resume)]);
};

const resumeWith = (taskId: string) => phrase`Resume with: ${action("resume", taskId)}`;

const NEXT_STEPS: Record<ErrorType, NextSteps> = {
  internal: () => [
    phrase`This is a bug in imggen. To list the tasks and their cost: ${action("history")}`,
    phrase`To resume unfinished tasks: ${action("resume")}`,
  ],
  usage: () => [phrase`${action("reference")}`],
  invalid_request: () => [phrase`To see what each model supports: ${action("models")}`],
  budget_exceeded: () => ["Nothing was sent."],
  auth_required: ({ resume }) =>
    resume === null
      ? [phrase`Store a key that works: ${action("run", "login")}`]
      : [
          phrase`Store the key that the task was submitted with: ${action("run", "login")}`,
          resumeWith(resume),
        ],
  insufficient_credits: resumeOr(phrase`Add credits to the account, then ${action("repeat")}.`),
  subscription_required: resumeOr(phrase`Upgrade the account, or choose another model: ${action("models")}`),
  generation_failed: ({ charged, free }) =>
    charged === "no" || free
      ? ["imggen does not retry it by itself."]
      : [phrase`imggen does not retry by itself; ${action("repeated")} charges again.`],
  service_error: resumeOr("Try again later."),
  pending: resumeOr(phrase`Resume later: ${action("resume")}`),
  network: () => ["Check the network and try again."],
  // If nothing was charged, the hint does not promise that the image is safe, because a full disk can cut off a free
  // reply.
  save_failed: ({ resume, charged }) =>
    resume === null ? [] : [[charged === "no" ? "" : "The image is not lost.", resumeWith(resume)]],
  outcome_unknown: ({ ledgerId, mentionedTaskId: mentionedTask, free }) => {
    const checkAdvice = mentionedTask !== null && [
      phrase`To check whether task ${mentionedTask} in the reply belongs to this request: ${action("resume", mentionedTask)}`,
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

/** Errors whose hints omit the cost if nothing was charged. */
const COSTLESS_TYPES: ReadonlySet<ErrorType> = new Set(["usage", "budget_exceeded", "internal"]);

function hintFor(type: ErrorType, facts: HintFacts, words: Vocabulary): string {
  const cost = COSTLESS_TYPES.has(type) && facts.charged === "no" ? "" : costText(facts.charged, facts.free);
  const [first = "", ...more] = NEXT_STEPS[type](facts).map((nextStep) => formatWording(nextStep, words));
  return [`${cost} ${first}`.trim(), ...more].filter(Boolean).join("\n");
}

/** Returns the next step without the cost, or an empty text. */
export function getAdvice(error: ImggenError, words: Vocabulary): string {
  const facts = { resume: null, ledgerId: null, mentionedTaskId: null, free: undefined };
  const { hint = NEXT_STEPS[error.type]({ ...facts, charged: error.charged }) } = error.wording;
  return formatWording(hint, words);
}

/** Adds the command that resumes the task, if the hint has fewer than two lines. */
function extendHint(type: ErrorType, hint: string, resume: string | null, words: Vocabulary): string {
  const advice = withFullStop(hint);
  // The cost is added, because advice about an invalid request is only about the request's fields.
  if (type === "invalid_request")
    return advice.startsWith("Nothing was") ? advice : `Nothing was sent. ${advice}`;
  const lines = advice.split("\n");
  if (resume === null || lines.length >= MAX_LINES) return advice;
  const resumeHint = formatWording(resumeWith(resume), words);
  return advice.includes(words.actions.resume(resume) ?? resumeHint)
    ? advice
    : [...lines, resumeHint].join("\n");
}

/** Endings that users copy (a command, a folder, a URL). A full stop would be copied too. */
const PASTED_ENDING = /(?::|\bsee) (?:imggen|chmod|sudo|npm) .*$|\/$|\bhttps?:\/\/\S+$/;

function withFullStop(hint: string): string {
  return PASTED_ENDING.test(hint) || /[.?]$/.test(hint) ? hint : `${hint}.`;
}

const COST_SENTENCES: Record<Charged, string> = {
  no: "Nothing was charged.",
  yes: "It was charged.",
  unknown: "It may have been charged.",
};

function costText(charged: Charged, free: FreeProvider | undefined): string {
  return free === "sandbox" ? "The sandbox is free." : COST_SENTENCES[charged];
}

export function describeFailure(error: unknown, words: Vocabulary, task?: FailedTask): FailureJson {
  const imggenError = toImggenError(error);
  const { type, key } = imggenError;
  const charged = task?.charged ?? imggenError.charged;
  const isOpen = task && isResumable(task.state) && !task.isOnlyLost;
  const resume = isOpen ? task.taskId : null;
  const mentionedTaskId = imggenError instanceof OutcomeUnknownError ? imggenError.mentionedTaskId : null;
  const { message, hint = "" } = imggenError.wording;
  const advice = formatWording(hint, words);
  const facts = { resume, ledgerId: task?.ledgerId ?? null, mentionedTaskId, charged, free: task?.free };
  const detail = {
    type,
    key,
    message: formatWording(message, words),
    hint: advice === "" ? hintFor(type, facts, words) : extendHint(type, advice, resume, words),
    exitCode: getExitCode(error),
    ...(imggenError instanceof ManifestError && { problems: imggenError.problems }),
  };
  return {
    ok: false,
    // The compiler cannot infer that `getExitCode` returns the exit code of `type`.
    error: detail as ErrorDetail,
    taskId: task?.taskId ?? null,
    charged,
    resume: resume === null ? null : resumeCommand(resume),
  };
}

/** Wrapper for the display of an unexpected error. The wrapper is never thrown. */
class InternalError extends ImggenError {
  readonly type = "internal";
}

function toImggenError(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new InternalError(`Unexpected error: ${message}`, { cause: error, charged: possibleCharge() });
}
