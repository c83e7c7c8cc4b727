import type { Command } from "commander";
import { EXIT_CODES } from "../../../client/exit-codes.ts";
import { describeFailure } from "../../../client/failure.ts";
import { inOrder } from "../../../lib/concurrency.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { VERSION } from "../../../lib/version.ts";
import { counted } from "../../../lib/whole-number.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import { createStatusLine } from "../../output/status-line.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { hasSymbols, type Paint, type TextStyleName } from "../../text/colors.ts";
import { besideTerm, pieces, roomOn } from "../../text/fit.ts";
import { type Check, type CheckResult, type CheckStatus, make, needed, ok, type Target } from "./check.ts";
import { checkFolder, checkState, checkTasks } from "./folders.ts";
import { checkLibraries, checkNode, checkTerminal } from "./installation.ts";
import { checkProxy, checkTls, SANDBOX } from "./network.ts";
import { askService, unknownTime } from "./service.ts";
import { checkConfig, checkModels, checkProfile, settingOf, WRONG_GENERATOR } from "./settings.ts";

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

/** Everything that is checked, in the order of the output: what waits for the network comes last. */
const CHECKS: readonly Check[] = [
  { name: "imggen", run: () => ok(VERSION, { version: VERSION }) },
  { name: "node", run: checkNode },
  { name: "libraries", run: checkLibraries },
  { name: "profile", run: checkProfile },
  { name: "config", run: checkConfig, next: "Fix its permissions or move it away, then try again." },
  { name: "models", run: checkModels },
  { name: "state", run: checkState },
  { name: "folder", run: checkFolder },
  { name: "tasks", run: checkTasks },
  { name: "terminal", run: checkTerminal },
  { name: "proxy", run: checkProxy },
  { name: "tls", run: checkTls },
  {
    name: "service",
    run: async (_session, target) => (await target).service(),
    next: "Set it to the service's address, its /api included.",
  },
  {
    name: "key",
    run: async (_session, target) => (await needed(WRONG_GENERATOR, () => target)).key(),
    next: "Use one from the service's API key page. imggen login stores it.",
  },
  { name: "clock", run: async (_session, target) => (await target.catch(unknownTime)).clock() },
];

/** @throws UsageError, AuthRequiredError if the generator's settings are wrong, NotChecked if the settings cannot be read */
async function askTarget(session: Session): Promise<Target> {
  if (session.isSandbox) return SANDBOX;
  const baseUrl = await settingOf("baseUrl", session);
  const own = await session.ownGenerator();
  if (own === null) return askService(baseUrl, session);
  const { askGenerator } = await import("./generator.ts");
  return askGenerator(own, session);
}

async function runDoctor(session: Session): Promise<number> {
  const { console, context, options } = session;
  const target = askTarget(session);
  // The checks report it.
  target.catch(() => {});
  const status = await createStatusLine(session);
  status.set("Checking");
  const results = CHECKS.map(async (check) => ({
    name: check.name,
    ...(await make(check, session, target)),
  }));
  try {
    const made = await inOrder(results, async (result) => {
      const { isNews, ...facts } = result;
      const isShown = isNews || NEEDS_ACTION.has(result.status) || options.verbose;
      if (!options.json && isShown) await showResult(result, session);
      return facts;
    });
    context.signal.throwIfAborted();
    const names = (status: CheckStatus) =>
      made.filter((each) => each.status === status).map(({ name }) => name);
    const failed = names("failed");
    if (options.json) await session.console.json({ ...documentOf(failed), checks: made });
    else await console.result(summaryOf(failed.length, names("warning").length));
    return failed.length > 0 ? EXIT_CODES.usage : 0;
  } finally {
    status.stop();
  }
}

const NEEDS_ACTION: ReadonlySet<CheckStatus> = new Set(["warning", "failed"]);

/** A check's result under its name. */
type NamedResult = CheckResult & { name: string };

const STATUSES: Readonly<Record<CheckStatus, { symbol: string; style: TextStyleName }>> = {
  ok: { symbol: "✓", style: "saved" },
  warning: { symbol: "!", style: "warning" },
  failed: { symbol: "✗", style: "error" },
  skipped: { symbol: "-", style: "detail" },
};
const LONGEST_STATUS = Math.max(...Object.keys(STATUSES).map(({ length }) => length));

const LONGEST_NAME = Math.max(...CHECKS.map(({ name }) => name.length));

/** Shows the result of a check: a line, continued below its text where a terminal is too narrow. */
async function showResult({ name, status, message, hint }: NamedResult, session: Session): Promise<void> {
  const { console, context } = session;
  const { stdout, env } = context;
  const style = console.style("stdout");
  const hasMarks = stdout.isTTY === true && hasSymbols(env);
  const mark = hasMarks ? STATUSES[status].symbol : status;
  const head = `${mark.padEnd(hasMarks ? 1 : LONGEST_STATUS)} ${name.padEnd(LONGEST_NAME)}`;
  const paint: Paint = (line, at) =>
    at === 0 ? style(STATUSES[status].style, mark) + line.slice(mark.length) : line;
  const parts = [message, ...(hint?.split("\n") ?? [])];
  await console.result(linesOf(head, parts, roomOn(stdout)), paint);
}

/** Puts all of it in one line where there is room; otherwise the next step begins a line. */
function linesOf(head: string, parts: readonly string[], columns: number): string[] {
  const beside = head.length + 2;
  // A part that ends in a command has no full stop of its own.
  const whole = parts.map((part, at) => (at < parts.length - 1 ? ended(part) : part)).join(" ");
  if (beside + whole.length <= columns) return [`${head.padEnd(beside)}${whole}`];
  return besideTerm(head.trimEnd(), parts.map(pieces), { columns, beside, least: 30, indent: 4 });
}

function ended(sentence: string): string {
  return /[.?]$/.test(sentence) ? sentence : `${sentence}.`;
}

/** The document for programs: that of a failure where something must be fixed. */
function documentOf(failed: readonly string[]): object {
  if (failed.length === 0) return { ok: true };
  const hint = "The hint of each check says what to do.";
  const error = new UsageError(`Something must be fixed: ${failed.join(", ")}.`, { hint });
  return describeFailure(error, FLAG_NAMES);
}

function summaryOf(failures: number, warnings: number): string {
  const counts = [
    ...(failures > 0 ? [counted(failures, "problem to fix", "problems to fix")] : []),
    ...(warnings > 0 ? [counted(warnings, "warning")] : []),
  ];
  return counts.length === 0 ? "No problems found." : `${counts.join(", ")}.`;
}
