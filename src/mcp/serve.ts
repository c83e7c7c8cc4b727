import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";
import { Jobs } from "./jobs.ts";
import { type Lines, LineTransport } from "./line-transport.ts";
import { createServer } from "./server.ts";
import type { SessionBudget } from "./session-budget.ts";
import type { CallSettings, Toolbox } from "./tool.ts";

export interface ServeOptions extends Lines, Pick<Toolbox, "findTask"> {
  client: Client;
  budget: SessionBudget;
  settings: () => Promise<CallSettings>;
  clock: Clock;
  /** Stops the server cleanly. */
  signal: AbortSignal;
  /** Called with errors outside any call. */
  onError: (error: Error) => void;
}

/** How long calls may take to end after the client has closed the connection, and again after they were aborted. */
const LAST_CALLS_MS = 1000;

/**
 * Serves one MCP client until it closes a pipe or the signal comes. Then every call is stopped cleanly: what is
 * charged stays in the ledger, for `imggen resume`.
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { input, write, client, budget, settings, clock, findTask, signal, onError } = options;
  const shared = { client, budget, clock, findTask, jobs: new Jobs() };
  const transport = new LineTransport({ input, write });
  const server = serveStdio(() => createServer(shared, settings), { transport, onerror: onError });
  const lastCalls = () => Promise.race([transport.answered(), clock.sleep(LAST_CALLS_MS)]);
  await Promise.race([transport.ended, aborted(signal)]);
  if (!signal.aborted) await lastCalls();
  await client.close();
  await lastCalls();
  await server.close();
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
