import type { Command } from "commander";
import { EXIT_CODES } from "../../../client/exit-codes.ts";
import { describeFailure } from "../../../client/failure.ts";
import { failureJson } from "../../../client/report-json.ts";
import { inOrder } from "../../../lib/concurrency.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import type { RunWith } from "../../app/command.ts";
import type { Session } from "../../app/session.ts";
import { createStatusLine } from "../../output/status-line.ts";
import { askService } from "./ask-service.ts";
import { type Asked, type CheckResult, type CheckStatus, make } from "./check.ts";
import { CHECKS } from "./checks.ts";
import { createLines } from "./lines.ts";

const EXAMPLES = `
Examples:
  $ imggen doctor
  $ imggen doctor --profile work
  $ imggen doctor --json`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description(
      "Check the installation, the account and the network, and say what to do about what is wrong.\n" +
        "It costs nothing and changes nothing. The exit code is 0 if all is well or there are only\n" +
        "warnings, and 2 if something must be fixed.",
    )
    .addHelpText("after", EXAMPLES)
    .action(runWith(runDoctor));
}

/** A check's result under its name. */
export interface NamedResult extends CheckResult {
  name: string;
}

async function runDoctor(session: Session): Promise<number> {
  const { console, context, options } = session;
  let asking: Promise<Asked> | undefined;
  const asked = () => (asking ??= askService(session));
  const lines = await createLines(session);
  const status = await createStatusLine(console, context);
  status.set("Checking");
  const results = CHECKS.map(async (check) => ({
    name: check.name,
    ...(await make(check, { session, asked })),
  }));
  try {
    const made = await inOrder(results, async (result) => {
      if (!options.json) await lines.show(result);
      return result;
    });
    context.signal.throwIfAborted();
    if (options.json) await session.json(doctorJson(made));
    else await console.result(summaryOf(made));
    return count(made, "failed") > 0 ? EXIT_CODES.usage : 0;
  } finally {
    status.stop();
  }
}

/** Where something must be fixed, the document is also that of a failure. */
function doctorJson(checks: readonly NamedResult[]): object {
  const names = checks.filter(({ status }) => status === "failed").map(({ name }) => name);
  if (names.length === 0) return { ok: true, checks };
  const hint = "The hint of each check says what to do.";
  const error = new UsageError(`Something must be fixed: ${names.join(", ")}.`, { hint });
  return { ...failureJson(describeFailure(error, FLAG_NAMES)), checks };
}

function summaryOf(checks: readonly NamedResult[]): string {
  const [failures, warnings] = [count(checks, "failed"), count(checks, "warning")];
  const counts = [
    failures > 0 && `${failures} to fix`,
    warnings > 0 && (warnings === 1 ? "1 warning" : `${warnings} warnings`),
  ].filter((part) => part !== false);
  return counts.length === 0 ? "No problems found." : `${counts.join(", ")}.`;
}

function count(checks: readonly NamedResult[], status: CheckStatus): number {
  return checks.filter((check) => check.status === status).length;
}
