import { describeFailure } from "../../../client/failure.ts";
import { failureJson } from "../../../client/report-json.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import type { Session } from "../../session/session.ts";
import type { Paint, TextStyleName } from "../../text/colors.ts";
import { hasSymbols } from "../../text/colors.ts";
import { besideTerm, pieces, roomOn } from "../../text/fit.ts";
import type { CheckResult, CheckStatus } from "./check.ts";

/** A check's result under its name. */
type NamedResult = CheckResult & { name: string };

const STATUSES: Readonly<Record<CheckStatus, { symbol: string; style: TextStyleName }>> = {
  ok: { symbol: "✓", style: "saved" },
  warning: { symbol: "!", style: "warning" },
  failed: { symbol: "✗", style: "error" },
  skipped: { symbol: "-", style: "detail" },
};
const LONGEST_STATUS = Math.max(...Object.keys(STATUSES).map(({ length }) => length));

/** Shows the results of checks: a line each, continued below its text where a terminal is too narrow. */
export async function createLines({ console, context }: Session, checks: readonly { name: string }[]) {
  const { stdout, env } = context;
  const style = await console.style("stdout");
  const hasMarks = stdout.isTTY === true && hasSymbols(env);
  const longestName = Math.max(...checks.map(({ name }) => name.length));
  return {
    async show({ name, status, message, hint }: NamedResult): Promise<void> {
      const mark = hasMarks ? STATUSES[status].symbol : status;
      const head = `${mark.padEnd(hasMarks ? 1 : LONGEST_STATUS)} ${name.padEnd(longestName)}`;
      const paint: Paint = (line, at) =>
        at === 0 ? style(STATUSES[status].style, mark) + line.slice(mark.length) : line;
      const parts = [message, ...(hint?.split("\n") ?? [])];
      await console.result(linesOf(head, parts, roomOn(stdout)), paint);
    },
  };
}

/** Where there is room, all of it in one line; otherwise the next step begins a line. */
function linesOf(head: string, parts: readonly string[], columns: number): string[] {
  const beside = head.length + 2;
  // A part that ends in a command has no full stop of its own.
  const whole = parts.map((part, at) => (at < parts.length - 1 ? ended(part) : part)).join(" ");
  if (beside + whole.length <= columns) return [`${head.padEnd(beside)}${whole}`];
  return besideTerm(head.trimEnd(), parts.map(pieces), { columns, beside, least: 30, indent: 4 });
}

function ended(sentence: string): string {
  return sentence.endsWith(".") ? sentence : `${sentence}.`;
}

/** Where something must be fixed, the document is also that of a failure. */
export function doctorJson(checks: readonly NamedResult[]): object {
  const names = checks.filter(({ status }) => status === "failed").map(({ name }) => name);
  if (names.length === 0) return { ok: true, checks };
  const hint = "The hint of each check says what to do.";
  const error = new UsageError(`Something must be fixed: ${names.join(", ")}.`, { hint });
  return { ...failureJson(describeFailure(error, FLAG_NAMES)), checks };
}

export function summaryOf(checks: readonly NamedResult[]): string {
  const [failures, warnings] = [count(checks, "failed"), count(checks, "warning")];
  const counts = [
    failures > 0 && `${failures} to fix`,
    warnings > 0 && (warnings === 1 ? "1 warning" : `${warnings} warnings`),
  ].filter((part) => part !== false);
  return counts.length === 0 ? "No problems found." : `${counts.join(", ")}.`;
}

export function count(checks: readonly NamedResult[], status: CheckStatus): number {
  return checks.filter((check) => check.status === status).length;
}
