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
      "Check the installation, the account and the network, and show how to fix problems.\n" +
        "Costs nothing and changes nothing. Checks without problems are shown only with --verbose. The exit code is 0 without problems or with warnings only, and 2 if a problem must be fixed.",
    )
    .addHelpText("after", EXAMPLES)
    .action(runWith(runDoctor));
}

/** `run` returns null if there is nothing to check. An ImggenError of `run` becomes a finding. */
interface Check {
  name: string;
  /** @param target result of the requests to the target, shared by all checks */
  run: (session: Session, target: Promise<TargetCheck>) => Finding | null | Promise<Finding | null>;
  next?: string;
}

const FIX_CONFIG = "Fix the permissions of the file or move the file, then try again.";
const FIX_URL = "Set the base URL to the address of the service, including /api.";
const FIX_KEY = "Use a key from the API key page of the service. To store the key: imggen login";

/** Checks that use the network are last. */
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

/** @throws UsageError or AuthRequiredError if the generator's settings are wrong, NotChecked if they cannot be read */
async function checkTarget(session: Session): Promise<TargetCheck> {
  await orNotChecked(() => session.settings.get("baseUrl"));
  const target = await targetInEffect(session);
  return target.check({ signal: session.context.signal });
}

async function runDoctor(session: Session): Promise<number> {
  const { console, context, options } = session;
  const target = checkTarget(session);
  // The checks report the error of `target`, so its rejection is ignored here.
  target.catch(() => {});
  const line = await createStatusLine(session);
  line.set("Checking");
  const findings = CHECKS.map(async (check) => ({
    name: check.name,
    ...(await runCheck(check, session, target)),
  }));
  try {
    const rows = await mapInOrder(findings, async (row) => {
      const isNotable = row.level !== "ok" && row.level !== "skipped";
      if (!options.json && (isNotable || options.verbose)) await showRow(row, session);
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

/** A check of the service on a busy machine must not time out. */
const CHECK_TIMEOUT_MS = 7_000;
const TIMEOUT_HINT = "A disk or network that does not respond may be the cause.";

/** Runs a check. Converts errors to findings, except bugs. @throws InterruptedError on a signal */
export async function runCheck(
  { run, next = "Fix the problem, then run: imggen doctor" }: Check,
  session: Session,
  target: Promise<TargetCheck>,
): Promise<Finding> {
  const { signal, clock } = session.context;
  const checkEnd = new AbortController();
  const timeUp = clock.sleep(CHECK_TIMEOUT_MS, AbortSignal.any([signal, checkEnd.signal]));
  const timeoutFinding = timeUp.then(() => warning("No result within 7 s.", TIMEOUT_HINT, {}));
  timeoutFinding.catch(() => {});
  try {
    const finding = await Promise.race([(async () => run(session, target))(), timeoutFinding]);
    return finding ?? skipped("not checked", {});
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof NotChecked) return skipped(error.message, {});
    if (error instanceof ImggenError) return failed(error.message, error.hint ?? next, {});
    if (errorCode(error) === undefined) throw error;
    return failed(`The check failed: ${errorText(error)}.`, next, {});
  } finally {
    checkEnd.abort();
  }
}

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

function findingLines(head: string, parts: readonly string[], columns: number): string[] {
  const textColumn = head.length + 2;
  // Adds full stops, because a part that ends with a command has no full stop. Doubled full stops are removed.
  const text = parts.join(". ").replace(/([.?])\. /g, "$1 ");
  if (textColumn + text.length <= columns) return [`${head.padEnd(textColumn)}${text}`];
  return termLines(head.trimEnd(), parts.map(pieces), {
    columns,
    textColumn,
    minTextColumns: 30,
    indent: 4,
  });
}

function doctorDocument(failed: readonly string[]): object {
  if (failed.length === 0) return { ok: true };
  const hint = "See the hint of each check.";
  const error = new UsageError(`Problems must be fixed: ${failed.join(", ")}.`, { hint });
  return describeFailure(error, COMMAND_VOCABULARY);
}

function summaryLine(failures: number, warnings: number): string {
  const problems = failures > 0 && pluralize(failures, "problem to fix", "problems to fix");
  const counts = [problems, warnings > 0 && pluralize(warnings, "warning")].filter((each) => each !== false);
  return counts.length === 0 ? "No problems found." : `${counts.join(", ")}.`;
}
