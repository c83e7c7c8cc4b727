import type { Command } from "commander";
import { createSessionClient } from "../../client/client.ts";
import { type ClientSession, openLedger } from "../../client/client-session.ts";
import { getExitCode } from "../../client/exit-codes.ts";
import { readRequestFlags, readSavedFields } from "../../client/given-values.ts";
import { MCP } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { targetInEffect } from "../../client/targets/target-in-effect.ts";
import { UsageError } from "../../lib/error-types.ts";
import { AGENT_WORDS } from "../../mcp/agent-words.ts";
import { SessionBudget } from "../../mcp/session-budget.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

type McpFlags = FlagsOf<typeof MCP>;

const SETUP = `
Setup:
  Add this to the settings of your MCP client, which starts the server:
  {"mcpServers": {"imggen": {"command": "imggen", "args": ["mcp"]}}}

Examples:
  $ imggen mcp --sandbox
  $ imggen mcp --max-credits 50 --output pictures/`;

export function register(command: Command, runWith: RunWith): void {
  addOptions(command, MCP).addHelpText("after", SETUP).action(runWith(runMcp));
}

async function runMcp(session: Session, flags: McpFlags): Promise<number> {
  const { console, context } = session;
  const matrix = await (await targetInEffect(session)).matrix();
  const budget = new SessionBudget(matrix, flags.maxCredits);
  resolveFolder(flags, session);
  const { CurrentClient, serve } = await import("../../mcp/mcp-server.ts");
  const { findOutputFolder } = await import("../../mcp/output-folder.ts");
  if (context.stdin.isTTY)
    await console.note("Waiting for an MCP client on standard input. To stop, press Ctrl-C.");
  const { clock, signal, stdin } = context;
  const ledger = openLedger(session);
  const clients = new CurrentClient(() => createSessionClient(agentSession(session, budget)));
  await serve({
    close: () => clients.close(),
    findTask: (id) => ledger.find(id),
    budget,
    async settings(isIdle) {
      session.settings.forget();
      // Ignores an invalid key, because the use of the generator reports an invalid key.
      const target = await targetInEffect(session);
      const key = session.settings.generator() === undefined ? "" : await target.key().catch(() => "");
      const client = await clients.get(key, isIdle);
      const { values: defaults } = readRequestFlags({}, session);
      const outputSettings = resolveFolder(flags, session);
      const takesAnyModel = session.settings.generator() !== undefined;
      const outputOptions = { ...outputSettings, env: context.env, state: session.folders.state };
      const findOutput = () => findOutputFolder(outputOptions);
      return {
        client,
        matrix: await target.matrix(),
        defaults,
        takesAnyModel,
        previews: flags.preview,
        findOutput,
      };
    },
    async generatorModels() {
      return (await (await targetInEffect(session)).models())?.names ?? null;
    },
    async generatorTerms() {
      return (await targetInEffect(session)).terms({});
    },
    clock,
    signal,
    input: stdin,
    write: (message) => console.message(message),
    onError: ({ message }) => void console.warn(message),
  });
  stdin.destroy();
  return signal.aborted ? getExitCode(signal.reason) : 0;
}

function agentSession(session: Session, budget: SessionBudget): ClientSession {
  const { context, settings, isSandbox, onSandboxNotice, onExchange } = session;
  return {
    context,
    settings,
    isSandbox,
    words: AGENT_WORDS,
    get folders() {
      return session.folders;
    },
    onSandboxNotice,
    onExchange,
    get savedFields() {
      return readSavedFields(settings);
    },
    caps: [budget],
  };
}

/** @throws UsageError */
function resolveFolder(
  { output }: McpFlags,
  { settings, context }: Session,
): { folder: string; isGiven: boolean } {
  const folder = settings.get("output", { value: output, label: "--output" });
  if (folder?.value === "-")
    throw new UsageError(`imggen mcp does not support ${folder.label} -. Give a folder.`);
  return { folder: context.resolvePath(folder?.value ?? "."), isGiven: folder !== undefined };
}
