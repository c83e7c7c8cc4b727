import type { Command } from "commander";
import { exitCodeOf } from "../../client/exit-codes.ts";
import { isOfPort, startInSandboxFolder } from "../../client/sandbox-folder.ts";
import { errorCode } from "../../lib/error-code.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/errors.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import { SANDBOX_KEY, startSandbox } from "../../sandbox/server.ts";
import type { RunWith } from "../app/command.ts";
import type { Session } from "../app/session.ts";
import { durationOption } from "../flags/values.ts";

interface SandboxFlags {
  port?: string;
  latency?: string;
  credits?: string;
}

const EXAMPLES = `
Fault injection:
  To test a script, put one of these into a prompt.
  [sandbox:fail]        [sandbox:slow=30s]  [sandbox:no-credits]
  [sandbox:429]         [sandbox:500]       [sandbox:drop]
  [sandbox:truncate]    [sandbox:html]      [sandbox:expired]
  [sandbox:subscription]

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

async function runSandbox(session: Session, flags: SandboxFlags): Promise<number> {
  const { console, context } = session;
  const sandbox = await start(session, flags);
  try {
    if (session.options.json) {
      await session.json({ ok: true, baseUrl: sandbox.baseUrl, apiKey: SANDBOX_KEY, port: sandbox.port });
    } else {
      await console.result([`base URL  ${sandbox.baseUrl}`, `API key   ${SANDBOX_KEY}`]);
      await console.note("Serving until Ctrl-C.");
    }
    return await untilSignal(context.signal);
  } finally {
    await sandbox.close();
  }
}

async function start(session: Session, { port, latency, credits }: SandboxFlags) {
  const { console } = session;
  const number = port === undefined ? 0 : wholeNumberOption("--port", port, { min: 0, max: 65_535 });
  try {
    return await startInSandboxFolder(session, (folder) =>
      startSandbox({
        folder,
        port: number,
        ...(latency !== undefined && { latencyMs: durationOption("--latency", latency) }),
        ...(credits !== undefined && { credits: wholeNumberOption("--credits", credits, { min: 0 }) }),
        onRequest: ({ method, path, status, note }) => {
          void console.note(`${method} ${path} ${status}${note === null ? "" : ` ${note}`}`);
        },
      }),
    );
  } catch (error) {
    if (!isOfPort(error)) throw error;
    const why = errorCode(error) === "EADDRINUSE" ? "is in use" : `cannot be opened: ${errorText(error)}`;
    throw new UsageError(`Port ${number} ${why}.`, {
      hint: "Choose another with --port, or leave it out.",
      cause: error,
    });
  }
}

/** Being stopped is how a server ends; the code says by what. */
function untilSignal(signal: AbortSignal): Promise<number> {
  return new Promise((resolve) => {
    const end = () => resolve(exitCodeOf(signal.reason));
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
