import { OutcomeUnknownError } from "../api/errors.ts";
import type { ManifestProblem } from "../core/batch/check-rows.ts";
import { ManifestError } from "../core/batch/manifest-error.ts";
import { InterruptedError } from "../core/errors.ts";
import type { TaskReport } from "../core/task/report.ts";
import { type Charged, type ErrorType, ImggenError } from "../lib/errors.ts";
import { shellWord } from "../lib/shell-word.ts";
import { isResumable } from "../task/lifecycle.ts";
import { EXIT_CODES, exitCodeOf } from "./exit-codes.ts";

/** A failure as users and scripts see it. */
export interface Failure {
  type: ErrorType;
  key: string | null;
  message: string;
  hint: string;
  exitCode: number;
  charged: Charged;
  taskId: string | null;
  /** The command that picks the task up, or null where there is nothing to pick up. */
  resume: string | null;
  /** The lines of a manifest that cannot be sent. */
  problems?: readonly ManifestProblem[];
}

type TaskFacts = Pick<TaskReport, "taskId" | "charged" | "state"> & { ledgerId?: string | null };

type Next = (resume: string | null, ledgerId: string | null, mentionedTaskId: string | null) => string;

const pickUp = (otherwise: string): Next => {
  return (resume) => (resume === null ? otherwise : `Resume with: ${resume}`);
};

/** What to do next, where the error itself does not know better. What it cost is said before it. */
const NEXT_STEPS: Record<ErrorType, Next> = {
  internal: () =>
    "This is a bug in imggen. Charged tasks are not lost: see imggen history and imggen resume.",
  usage: () => "See imggen --help.",
  invalid_request: () => "imggen models shows what each model takes.",
  budget_exceeded: () => "Nothing was sent.",
  auth_required: (resume) =>
    resume === null
      ? "Store a key that works: imggen login"
      : `With the key it was submitted with (imggen login): ${resume}`,
  insufficient_credits: pickUp("Add credits to the account, then run the same command again."),
  subscription_required: pickUp("Choose another model (imggen models), or upgrade the account."),
  generation_failed: () => "imggen does not retry by itself; running it again charges again.",
  service_error: pickUp("Try again later."),
  pending: pickUp("Resume later: imggen resume"),
  network: () => "Check the network and try again.",
  save_failed: (resume) => (resume === null ? "" : `It is not lost. Resume with: ${resume}`),
  outcome_unknown: (_resume, ledgerId, mentioned) => {
    const how =
      mentioned === null
        ? "If the service shows its task id: imggen resume <task id>."
        : `The reply mentions the task id ${mentioned}. To see whether it is this request's: ${resumeCommand(mentioned)}.`;
    const next = `It is not submitted again by itself. ${how}`;
    if (ledgerId === null) return next;
    return `${next} To submit it again, at a new charge: imggen rerun ${ledgerId}. To dismiss it: imggen resume ${ledgerId} --dismiss`;
  },
  partial: () => "Run the same command again to resume.",
  interrupted: pickUp(""),
};

/** Failures of the command line itself have no cost to speak of. */
const FREE: ReadonlySet<ErrorType> = new Set(["usage", "budget_exceeded", "internal"]);

function hintFor(type: ErrorType, charged: Charged, ...next: Parameters<Next>): string {
  const cost = FREE.has(type) && charged === "no" ? "" : COST[charged];
  return `${cost} ${NEXT_STEPS[type](...next)}`.trim();
}

const COST: Record<Charged, string> = {
  no: "Nothing was charged.",
  yes: "It was charged.",
  unknown: "It may have been charged.",
};

/** The one table from errors to what is shown of them. */
export function describeFailure(error: unknown, task?: TaskFacts): Failure {
  const expected = expectedError(error);
  const charged = task?.charged ?? expected.charged;
  const resume = task && isResumable(task.state) && task.taskId !== null ? resumeCommand(task.taskId) : null;
  const { type, key, message } = expected;
  const mentioned = expected instanceof OutcomeUnknownError ? expected.mentionedTaskId : null;
  return {
    type,
    key,
    message,
    hint: expected.hint ?? hintFor(type, charged, resume, task?.ledgerId ?? null, mentioned),
    exitCode:
      error instanceof InterruptedError ? exitCodeOf(error) : EXIT_CODES[type as keyof typeof EXIT_CODES],
    charged,
    taskId: task?.taskId ?? null,
    resume,
    ...(expected instanceof ManifestError && { problems: expected.problems }),
  };
}

class InternalError extends ImggenError {
  readonly type = "internal";
}

function expectedError(error: unknown): ImggenError {
  if (error instanceof ImggenError) return error;
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return new InternalError(`Unexpected error: ${what}`, { cause: error, charged: "unknown" });
}

/** The command that picks a task up, ready to paste into a shell, whatever the id is made of. */
export function resumeCommand(taskId: string): string {
  return `imggen resume ${taskId.startsWith("-") ? "-- " : ""}${shellWord(taskId)}`;
}

/**
 * The failure for a person: what happened, and what to do next. Only a manifest's problems have lines of their own.
 * @param which of several tasks it is of, to begin with
 */
export function failureLines(failure: Failure, which = ""): string[] {
  const key = failure.key === null || failure.message.includes(failure.key) ? "" : ` [${failure.key}]`;
  const text = `error: ${which}${failure.message}${key}`;
  const lines = failure.problems ? text.split("\n") : [text];
  return failure.hint === "" ? lines : [...lines, ...failure.hint.split("\n").map((line) => `  ${line}`)];
}
