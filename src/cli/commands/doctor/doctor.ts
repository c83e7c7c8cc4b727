import type { Command } from "commander";
import { EXIT_CODES } from "../../../client/exit-codes.ts";
import { describeFailure } from "../../../client/failure.ts";
import {
  type Finding,
  failed,
  NotChecked,
  ok,
  orNotChecked,
  skipped,
  warning,
} from "../../../client/finding.ts";
import { checkFolder, checkProxy, checkState, checkTasks, checkTls } from "../../../client/machine-checks.ts";
import { checkConfig, checkModels, checkProfile } from "../../../client/settings-checks.ts";
import type { TargetCheck } from "../../../client/targets/target.ts";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import { mapInOrder } from "../../../lib/concurrency.ts";
import { errorCode, errorText } from "../../../lib/error-text.ts";
import { ImggenError, UsageError } from "../../../lib/error-types.ts";
import { VERSION } from "../../../lib/version.ts";
import { pluralize } from "../../../lib/whole-number.ts";
import { COMMAND_VOCABULARY } from "../../../lib/wording.ts";
import { createStatusLine } from "../../output/status-line.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { hasSymbols, type Paint, type TextStyleName } from "../../text/colors.ts";
import { pieces, streamColumns, termLines } from "../../text/fit.ts";
import { checkLibraries, checkNode, checkTerminal } from "./installation.ts";

const EXAMPLES = `
Examples:
  $ imggen doctor
  $ imggen doctor --profile work
  $ imggen doctor --json`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description(
      "Check the installation, the account and the network, and say what to do about what is wrong.\n" +
        "It costs nothing and changes nothing. Checks without news are shown only with --verbose. The exit code is 0 if all is well or there are only warnings, and 2 if something must be fixed.",
    )
    .addHelpText("after", EXAMPLES)
    .action(runWith(runDoctor));
}

/** One check. An ImggenError that it throws is its finding: failed. Null if there is nothing to check. */
interface Check {
  name: string;
  /** @param target asked once for all checks */
  run: (session: Session, target: Promise<TargetCheck>) => Finding | null | Promise<Finding | null>;
  /** The next step where an error names none. */
  next?: string;
}

const FIX_CONFIG = "Fix its permissions or move it away, then try again.";
const FIX_URL = "Set it to the service's address, its /api included.";
const FIX_KEY = "Use one from the service's API key page. imggen login stores it.";

/** Everything that is checked, in the order of the output: what waits for the network comes last. */
const CHECKS: readonly Check[] = [
  { name: "imggen", run: () => ok(VERSION, { version: VERSION }) },
  { name: "node", run: checkNode },
  { name: "libraries", run: checkLibraries },
  { name: "profile", run: checkProfile },
  { name: "config", run: checkConfig, next: FIX_CONFIG },
  { name: "models", run: checkModels },
  { name: "state", run: checkState },
  { name: "folder", run: checkFolder },
  { name: "tasks", run: checkTasks },
  { name: "terminal", run: checkTerminal },
  { name: "proxy", run: checkProxy },
  { name: "tls", run: checkTls },
  { name: "service", run: async (_session, target) => (await target).service(), next: FIX_URL },
  { name: "key", run: async (_session, target) => (await orNotChecked(() => target)).key(), next: FIX_KEY },
  { name: "clock", run: async (_session, target) => (await orNotChecked(() => target)).clock() },
];

/** @throws UsageError, AuthRequiredError if the generator's settings are wrong, NotChecked if the settings cannot be read */
async function askTarget(session: Session): Promise<TargetCheck> {
  await orNotChecked(() => session.settings.get("baseUrl"));
  const target = await targetInEffect(session);
  return target.check({ signal: session.context.signal });
}

async function runDoctor(session: Session): Promise<number> {
  const { console, context, options } = session;
  const target = askTarget(session);
  // The checks report it.
  target.catch(() => {});
  const line = await createStatusLine(session);
  line.set("Checking");
  const findings = CHECKS.map(async (check) => ({
    name: check.name,
    ...(await make(check, session, target)),
  }));
  try {
    const rows = await mapInOrder(findings, async (row) => {
      const isNews = row.level !== "ok" && row.level !== "skipped";
      if (!options.json && (isNews || options.verbose)) await showRow(row, session);
      return row;
    });
    context.signal.throwIfAborted();
    const namesAtLevel = (requiredLevel: Finding["level"]) =>
      rows.flatMap(({ name, level }) => (level === requiredLevel ? name : []));
    const failed = namesAtLevel("failed");
    const checks = rows.map(({ name, level, ...rest }) => ({ name, status: checkStatus(level), ...rest }));
    if (options.json) await console.json({ ...doctorDocument(failed), checks });
    else await console.result(summaryLine(failed.length, namesAtLevel("warning").length));
    return failed.length > 0 ? EXIT_CODES.usage : 0;
  } finally {
    line.stop();
  }
}

/** Longer than the check of the service takes, on a busy machine too. */
const MAX_CHECK_MS = 7_000;
const LATE = "A disk or a network that does not answer may be the cause.";

/** Makes a check. Everything but a bug in imggen is a finding. @throws InterruptedError on a signal */
export async function make(
  { run, next = "Fix that, then run imggen doctor again." }: Check,
  session: Session,
  target: Promise<TargetCheck>,
): Promise<Finding> {
  const { signal, clock } = session.context;
  const checkEnd = new AbortController();
  const timeUp = clock.sleep(MAX_CHECK_MS, AbortSignal.any([signal, checkEnd.signal]));
  const late = timeUp.then(() => warning("No result within 7 s.", LATE, {}));
  late.catch(() => {});
  try {
    const finding = await Promise.race([(async () => run(session, target))(), late]);
    return finding ?? skipped("not checked", {});
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotChecked) return skipped(error.message, {});
    if (error instanceof ImggenError) return failed(error.message, error.hint ?? next, {});
    if (errorCode(error) === undefined) throw error;
    return failed(`It cannot be checked: ${errorText(error)}.`, next, {});
  } finally {
    checkEnd.abort();
  }
}

/** Name of a level, for terminals without marks. */
function checkStatus(level: Finding["level"]): string {
  return level === "news" ? "ok" : level;
}

const MARKS: Readonly<Record<Finding["level"], { symbol: string; style: TextStyleName }>> = {
  ok: { symbol: "✓", style: "saved" },
  news: { symbol: "✓", style: "saved" },
  skipped: { symbol: "-", style: "detail" },
  warning: { symbol: "!", style: "warning" },
  failed: { symbol: "✗", style: "error" },
};
const MAX_STATUS_LENGTH = "skipped".length;
const MAX_NAME_LENGTH = Math.max(...CHECKS.map(({ name }) => name.length));

/** Shows a finding under its check's name: a line, wrapped below its text if the terminal is too narrow. */
async function showRow(
  { name, level, message, hint }: Finding & { name: string },
  { console, context: { stdout, env } }: Session,
): Promise<void> {
  const { symbol, style } = MARKS[level];
  const hasMarks = stdout.isTTY === true && hasSymbols(env);
  const mark = hasMarks ? symbol : checkStatus(level);
  const head = `${mark.padEnd(hasMarks ? 1 : MAX_STATUS_LENGTH)} ${name.padEnd(MAX_NAME_LENGTH)}`;
  const styled = console.style("stdout")(style, mark);
  const paint: Paint = (line, at) => (at === 0 ? line.replace(mark, styled) : line);
  await console.result(
    findingLines(head, [message, ...(hint?.split("\n") ?? [])], streamColumns(stdout)),
    paint,
  );
}

/** Puts everything on one line if there is room; otherwise the next step begins a line. */
function findingLines(head: string, parts: readonly string[], columns: number): string[] {
  const beside = head.length + 2;
  // A part that ends in a command has no full stop.
  const whole = parts.join(". ").replace(/([.?])\. /g, "$1 ");
  if (beside + whole.length <= columns) return [`${head.padEnd(beside)}${whole}`];
  return termLines(head.trimEnd(), parts.map(pieces), {
    columns,
    textColumn: beside,
    minTextColumns: 30,
    indent: 4,
  });
}

/** The JSON document: that of a failure if something must be fixed. */
function doctorDocument(failed: readonly string[]): object {
  if (failed.length === 0) return { ok: true };
  const hint = "The hint of each check says what to do.";
  const error = new UsageError(`Something must be fixed: ${failed.join(", ")}.`, { hint });
  return describeFailure(error, COMMAND_VOCABULARY);
}

function summaryLine(failures: number, warnings: number): string {
  const problems = failures > 0 && pluralize(failures, "problem to fix", "problems to fix");
  const counts = [problems, warnings > 0 && pluralize(warnings, "warning")].filter((each) => each !== false);
  return counts.length === 0 ? "No problems found." : `${counts.join(", ")}.`;
}
