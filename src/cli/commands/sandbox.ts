import type { Command } from "commander";
import { sandboxFolder, startService } from "../../client/service-in-effect.ts";
import { durationOption } from "../../lib/duration.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import { SANDBOX_KEY, startSandbox } from "../../sandbox/server.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { log, requestLine, serveUntilSignal, startOnPort } from "./serving.ts";

interface SandboxFlags {
  port?: string;
  latency?: string;
  credits?: string;
}

const EXAMPLES = `
Keys:
  sk-sandbox has a subscription, and --sandbox uses it; sk-sandbox-basic has none.
  Any other sk-… is a fresh account with a subscription.
  To start over, delete the folder sandbox in the state folder.

Fault injection:
  To test a script, put one of these into a prompt.
  [sandbox:fail]        [sandbox:slow=30s]
  [sandbox:no-credits]  [sandbox:subscription]
  [sandbox:429]         [sandbox:500]
  [sandbox:drop]        [sandbox:truncate]
  [sandbox:html]        [sandbox:expired]

Examples:
  $ imggen sandbox
  $ imggen sandbox --port 8787 --latency 5s --credits 20`;

export function register(command: Command, runWith: RunWith): void {
  command
    .option("--port <n>", "port on 127.0.0.1 (default: any free one)")
    .option("--latency <duration>", "how long a task takes (default: 600ms)")
    .option("--credits <n>", "set the balance (default: 1000 at the first start)")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runSandbox));
}

async function runSandbox(session: Session, { port: flag, latency, credits }: SandboxFlags): Promise<number> {
  const matrix = await session.matrix();
  const folder = sandboxFolder(session.folders);
  const sandbox = await startOnPort(flag, (port) =>
    startService(folder, () =>
      startSandbox({
        folder,
        port,
        matrix,
        ...(latency !== undefined && { latencyMs: durationOption("--latency", latency) }),
        ...(credits !== undefined && { credits: wholeNumberOption("--credits", credits, { min: 0 }) }),
        onRequest: (request) => log(requestLine(request), session),
      }),
    ),
  );
  try {
    return await serveUntilSignal(session, { ...sandbox, apiKey: SANDBOX_KEY }, "Serving");
  } finally {
    await sandbox.close();
  }
}
