import type { Command } from "commander";
import { EXIT_CODES } from "../../../client/exit-codes.ts";
import { inOrder } from "../../../lib/concurrency.ts";
import { VERSION } from "../../../lib/version.ts";
import { createStatusLine } from "../../output/status-line.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { type Check, make, ok } from "./check.ts";
import { checkCache, checkFolder, checkState, checkTasks } from "./folders.ts";
import { checkLibraries, checkNode, checkTerminal } from "./installation.ts";
import { checkProxy, checkTls } from "./network.ts";
import { askService, checkClock, checkKey, checkService } from "./service.ts";
import { checkConfig, checkModels, checkProfile } from "./settings.ts";
import { count, createLines, doctorJson, summaryOf } from "./view.ts";

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

/** Everything that is checked, in the order of the output: what waits for the network comes last. */
const CHECKS: readonly Check[] = [
  { name: "imggen", run: () => ok(VERSION, { version: VERSION }) },
  { name: "node", run: checkNode },
  { name: "libraries", run: checkLibraries },
  { name: "profile", run: checkProfile },
  { name: "config", run: checkConfig, next: "Fix its permissions or move it away, then try again." },
  { name: "models", run: checkModels },
  { name: "state", run: checkState },
  { name: "cache", run: checkCache },
  { name: "folder", run: checkFolder },
  { name: "tasks", run: checkTasks },
  { name: "terminal", run: checkTerminal },
  { name: "proxy", run: checkProxy },
  { name: "tls", run: checkTls },
  { name: "service", run: checkService, next: "Set it to the service's address, its /api included." },
  { name: "key", run: checkKey, next: "Use one from the service's API key page. imggen login stores it." },
  { name: "clock", run: checkClock },
];

async function runDoctor(session: Session): Promise<number> {
  const { console, context, options } = session;
  const asked = askService(session);
  // The checks report it.
  asked.catch(() => {});
  const lines = await createLines(session, CHECKS);
  const status = await createStatusLine(console, context);
  status.set("Checking");
  const results = CHECKS.map(async (check) => ({
    name: check.name,
    ...(await make(check, session, asked)),
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
