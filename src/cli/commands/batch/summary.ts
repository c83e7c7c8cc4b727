import type { PlanFacts } from "../../../client/batch-json.ts";
import { EXIT_CODES, getExitCode } from "../../../client/exit-codes.ts";
import { getAdvice } from "../../../client/failure.ts";
import type { BatchResult, Confirmation } from "../../../core/batch/batch-spec.ts";
import type { BatchCounts } from "../../../core/batch/counts.ts";
import type { TotalCost } from "../../../core/batch/plan.ts";
import type { ErrorType, ImggenError } from "../../../lib/error-types.ts";
import { pluralize } from "../../../lib/whole-number.ts";
import { COMMAND_VOCABULARY } from "../../../lib/wording.ts";
import { fileLines } from "../../output/render.ts";
import type { Session } from "../../session/session.ts";
import { streamColumns } from "../../text/fit.ts";
import { creditsText } from "../../text/phrases.ts";

function costText({ rows, credits, undocumented }: TotalCost): string {
  if (undocumented === 0) return creditsText(credits);
  if (undocumented === rows) return creditsText(null);
  return `${creditsText(credits)}, and ${pluralize(undocumented, "row")} of unknown cost`;
}

/** Formats a plan, such as `3 rows, 2 already saved, 4 credits already charged, 1 to submit: 2 credits`. */
export function planText(plan: PlanFacts, unit = "row"): string {
  const { rows, repeats, saved, unfinished, charged, isCertain, toSubmit } = plan;
  const repeating = ` (${pluralize(repeats, "repeats", "repeat")} an earlier row)`;
  const parts = [
    pluralize(rows, unit) + (repeats === 0 ? "" : repeating),
    saved > 0 && `${saved} already saved`,
    unfinished > 0 && `${unfinished} unfinished`,
    charged.credits > 0 && `${isCertain ? "" : "up to "}${creditsText(charged.credits)} already charged`,
    toSubmit.rows === 0 ? "nothing to submit" : `${toSubmit.rows} to submit: ${costText(toSubmit)}`,
  ];
  return parts.filter(Boolean).join(", ");
}

export function estimateText({ estimate }: PlanFacts): string {
  if (estimate === null) return "";
  return `For the confirmation, each row of unknown cost counts as ${estimate.each} credits, so the total is ${estimate.total} credits.`;
}

export function confirmationQuestion(confirmation: Confirmation): string {
  if (confirmation.about === "costs")
    return `Spend ${confirmation.isEstimate ? "an estimated " : ""}${confirmation.credits} credits?`;
  return `Submit ${confirmation.rows === 1 ? "the row" : `all ${confirmation.rows} rows`}?`;
}

/** `sheet`: path of the contact sheet; null after a failure, undefined if not requested. */
export interface ShownResult extends BatchResult {
  sheet?: string | null;
  /** Whether the rows or the prompt came from standard input. */
  readsInput?: boolean;
}

export async function showSummary(result: ShownResult, session: Session): Promise<void> {
  for (const line of summaryLines(result, session)) await session.console.note(line);
  const room = streamColumns(session.context.stderr);
  if (result.sheet) await session.console.note(await fileLines("Contact sheet:", result.sheet, "", room));
}

/** Maximum number of failures of one kind to print. Further failures are only counted in the summary. */
export const MAX_SHOWN = 5;

function summaryLines(result: ShownResult, session: Session): string[] {
  const { counts, rows, stopped } = result;
  const { saved, skipped, failed, unknown, pending, waiting, inProgress, notSent } = counts;
  const { isSandbox } = session;
  const parts = [
    savedText(saved, skipped),
    failed > 0 && `${failed} failed`,
    unknown > 0 && `${unknown} of unknown outcome`,
    pending > waiting && `${pending - waiting} charged and unfinished`,
    waiting > inProgress && `${waiting - inProgress} waiting to be sent`,
    inProgress > 0 && `${inProgress} unfinished, free`,
    notSent > 0 && `${notSent} not sent`,
  ].filter(Boolean);
  const lines = [
    `${pluralize(rows, "row")}: ${parts.join(", ")}. ${isSandbox ? "The sandbox is free." : spentText(counts)}`,
  ];
  // All failures of kinds with few failures were printed during the run.
  for (const { error, names, count } of counts.errors.filter(({ count }) => count > MAX_SHOWN))
    lines.push(`  ${count} × ${error.message} (${names.join(", ")}, …)`);
  for (const [mismatch, count] of counts.mismatches)
    lines.push(`  warning: ${mismatch} (${pluralize(count, "row")})`);
  if (stopped) lines.push(stoppedText(stopped), ...remedies(stopped));
  return [...lines, ...nextSteps(result, session)];
}

function savedText(savedRows: number, earlier: number): string {
  if (earlier === 0) return `${savedRows} saved`;
  return savedRows === 0
    ? `${earlier} saved by earlier runs`
    : `${savedRows + earlier} saved (${earlier} of them by earlier runs)`;
}

function spentText({ cost, possibleCost }: BatchCounts): string {
  if (cost.rows === 0) return "Nothing was charged in this run.";
  if (possibleCost.rows === 0) return `Charged in this run: ${costText(cost)}.`;
  if (possibleCost.rows === cost.rows) return `May have been charged in this run: ${costText(cost)}.`;
  if (possibleCost.credits === 0)
    return `Charged in this run: ${costText(cost)}; ${pluralize(possibleCost.rows, "row")} may not have been charged.`;
  const certain = cost.credits - possibleCost.credits;
  return `Charged in this run: ${certain === 0 ? "up to" : `${certain} to`} ${costText(cost)}.`;
}

function stoppedText({ type, message }: ImggenError): string {
  return type === "interrupted" ? message : `Stopped: ${message}`;
}

/** Omits the sentence about the cost, because the summary shows the total cost. */
function remedies(stopped: ImggenError): string[] {
  const advice = getAdvice(stopped, COMMAND_VOCABULARY).replace(/^Nothing was (?:sent|charged)[^.]*\. ?/, "");
  return advice === "" ? [] : advice.split("\n");
}

const RESUBMIT_FLAGS = ["--again", "--retry-failed", "--resubmit-unknown"];

function nextSteps({ counts, stopped, readsInput = false }: ShownResult, session: Session): string[] {
  const { failed, refused, freeFailed, unknown, freeUnknown, pending, notSent } = counts;
  const isFree = session.isSandbox || freeUnknown === unknown;
  const steps: string[] = [];
  const input = readsInput ? " with the same input" : "";
  // Omits other resubmit flags, so that the command charges only the rows of this message.
  const repeat = (flag?: string) => {
    const flagsToOmit = session.givenFlags(RESUBMIT_FLAGS).filter((each) => each !== flag);
    const without = flagsToOmit.length > 0 && ` without ${flagsToOmit.join(" and ")}`;
    const parts = [input, flag && `${input && " and"} with ${flag}`, without];
    return `run the same command again${parts.filter(Boolean).join("")}.`;
  };
  const isAdvised = stopped !== null && remedies(stopped).some((line) => line.includes(repeat()));
  if (pending + notSent + refused > 0 && !isAdvised) steps.push(`To resume, ${repeat()}`);
  if (unknown > 0)
    steps.push(
      `Rows of unknown outcome may have been ${isFree ? "accepted" : "charged"}. To submit them again, ${repeat("--resubmit-unknown")}`,
    );
  if (failed > refused)
    steps.push(
      `To submit failed rows again${freeFailed === failed ? "" : ", at a new charge"}, ${repeat("--retry-failed")}`,
    );
  return steps;
}

const EXIT_CODE_ERRORS: ReadonlySet<ErrorType> = new Set([
  "auth_required",
  "insufficient_credits",
  "subscription_required",
  "interrupted",
]);

/** Returns 0 if all rows are saved, otherwise the code of the error that stopped the batch, or `partial`. */
export function batchExitCode({ counts, stopped }: BatchResult): number {
  if (stopped && EXIT_CODE_ERRORS.has(stopped.type)) return getExitCode(stopped);
  return counts.isComplete ? 0 : EXIT_CODES.partial;
}
