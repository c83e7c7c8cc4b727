import type { Command } from "commander";
import { clientOf } from "../../client/client.ts";
import { exitCodeOf } from "../../client/exit-codes.ts";
import { matrixInEffect } from "../../client/matrix-in-effect.ts";
import { openLedger } from "../../client/session.ts";
import { UsageError } from "../../lib/error-types.ts";
import { DEFAULT_MAX_CREDITS, SessionBudget } from "../../mcp/session-budget.ts";
import { maxCreditsOf } from "../flags/generate-flags.ts";
import { readRequestFlags } from "../flags/request-flags.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

interface McpFlags {
  output?: string;
  maxCredits?: string;
}

const SETUP = `
Setup:
  An MCP client starts it. In the settings of most clients:
  {"mcpServers": {"imggen": {"command": "imggen", "args": ["mcp"]}}}

Examples:
  $ imggen mcp --sandbox
  $ imggen mcp --max-credits 50 --output pictures/`;

export function register(command: Command, runWith: RunWith): void {
  command
    .option("-o, --output <dir>", "folder for the images (default: the current folder)")
    .option(
      "--max-credits <n>",
      `refuse to spend more than <n> credits per session (default: ${DEFAULT_MAX_CREDITS})`,
    )
    .addHelpText("after", SETUP)
    .action(runWith(runMcp));
}

async function runMcp(session: Session, flags: McpFlags): Promise<number> {
  const { console, context } = session;
  const matrix = await session.matrix();
  const budget = new SessionBudget(matrix, maxCreditsOf(flags));
  folderOf(flags, session);
  const { serve } = await import("../../mcp/server.ts");
  if (context.stdin.isTTY)
    await console.note("Waiting for an MCP client on standard input. To end it, press Ctrl-C.");
  const { clock, signal, stdin } = context;
  const ledger = openLedger(session);
  await serve({
    client: clientOf(session),
    findTask: (id) => ledger.find(id),
    budget,
    async settings() {
      session.settings.forget();
      const { values: defaults } = readRequestFlags({}, session);
      const output = folderOf(flags, session);
      return { matrix: matrixInEffect(session), defaults, output };
    },
    clock,
    signal,
    input: stdin,
    write: (message) => console.message(message),
    onError: ({ message }) => void console.warn(message),
  });
  stdin.destroy();
  return signal.aborted ? exitCodeOf(signal.reason) : 0;
}

/** The folder that images go below, absolute. @throws UsageError */
function folderOf({ output }: McpFlags, { settings, context }: Session): string {
  const folder = settings.get("output", { value: output, label: "--output" });
  if (folder?.value === "-")
    throw new UsageError(`${folder.label} - is for generate; here it takes a folder.`);
  return context.resolvePath(folder?.value ?? ".");
}
