import { once, setMaxListeners } from "node:events";
import {
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type ServerContext,
  type Tool as ToolDescription,
} from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import type { Client } from "../client/client.ts";
import { eventText } from "../client/run-text.ts";
import type { OnTaskProgress } from "../core/engine/events.ts";
import type { Clock } from "../lib/clock.ts";
import { VERSION } from "../lib/version.ts";
import { type Lines, LineTransport } from "./line-transport.ts";
import type { SessionCosts } from "./session-budget.ts";
import { Jobs } from "./session-jobs.ts";
import type { CallSettings, Tool, Toolbox, ToolFacts } from "./tool.ts";
import { type Answer, failureAnswer } from "./tool-answer.ts";
import { generateImage } from "./tools/generate-image.ts";
import { estimateCost, listModels } from "./tools/model-tools.ts";
import { getTask, history, resumeTasks } from "./tools/task-tools.ts";

export interface ServeOptions extends Lines, Omit<Toolbox, keyof CallSettings | "jobs"> {
  /** @param isIdle whether no task of the session is running */
  settings: (isIdle: boolean) => Promise<CallSettings>;
  /** Stops every call cleanly. */
  close: () => Promise<void>;
  /** Stops the server cleanly. */
  signal: AbortSignal;
  /** Called with errors outside any call. */
  onError: (error: Error) => void;
}

/** Grace period of calls after the client has closed the connection, and again after their abort, in milliseconds. */
const LAST_CALLS_MS = 1000;

/**
 * Serves one MCP client until it closes a pipe or the signal aborts. Then every call is stopped cleanly: charged
 * tasks stay in the ledger, for `imggen resume`.
 */
export async function serve(options: ServeOptions): Promise<void> {
  const { input, write, budget, settings, close, clock, signal, onError } = options;
  const { findTask, generatorModels, generatorTerms } = options;
  const shared = { budget, clock, findTask, generatorModels, generatorTerms, jobs: new Jobs() };
  const transport = new LineTransport({ input, write });
  const server = serveStdio(() => createServer(shared, () => settings(shared.jobs.isIdle)), {
    transport,
    onerror: onError,
  });
  const lastCalls = () => Promise.race([transport.answered(), clock.sleep(LAST_CALLS_MS)]);
  if (!signal.aborted) await Promise.race([transport.closed, once(signal, "abort")]);
  if (!signal.aborted) await lastCalls();
  await close();
  await lastCalls();
  await server.close();
}

function toolsFor(now: ToolFacts): readonly Tool[] {
  return [generateImage(now), getTask, listModels, estimateCost(now), resumeTasks, history(now)];
}

const INSTRUCTIONS =
  "imggen generates images, which may cost credits. Every answer says what this session has spent and may spend, in credits. The same generate_image call again is never charged twice. A task that is still running is not lost: get_task waits for it and saves it.";

/** An MCP server. @param shared among several servers @param settings reads the user's current settings */
export function createServer(
  shared: Omit<Toolbox, keyof CallSettings>,
  settings: () => Promise<CallSettings>,
): Server {
  const info = { name: "imggen", title: "imggen", version: VERSION };
  const server = new Server(info, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler("tools/list", async () => {
    requireOpened(server);
    const [now, terms] = await Promise.all([settings(), termsInTime(shared)]);
    return { tools: toolsFor({ ...now, terms }).map(toDescription) };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    requireOpened(server);
    const now = await settings().catch(failureAnswer);
    if ("result" in now) return toCallResult(now, shared.budget.costs);
    const run = prepareCall(toolsFor(now), params.name, params.arguments ?? {});
    const { signal } = context.mcpReq;
    // resume_tasks waits for every job of the session.
    setMaxListeners(0, signal);
    const { onProgress, stop } = reportProgress(context.mcpReq, shared.clock);
    const answer = await run({ signal, onProgress }, { ...shared, ...now })
      .catch(failureAnswer)
      .finally(stop);
    return toCallResult(answer, shared.budget.costs);
  });
  return server;
}

/** Timeout of a generator's terms for the list of tools, in milliseconds: clients wait for this list first. */
const TERMS_MS = 2_000;

/** The terms of the user's own generator; null without one, and if it does not answer in time. */
async function termsInTime({ generatorTerms, clock }: Pick<Toolbox, "generatorTerms" | "clock">) {
  const over = new AbortController();
  const timeUp = clock.sleep(TERMS_MS, over.signal).then(
    () => null,
    () => null,
  );
  return Promise.race([generatorTerms().catch(() => null), timeUp]).finally(() => over.abort());
}

/** @throws ProtocolError before initialization */
function requireOpened(server: Server): void {
  if (server.getNegotiatedProtocolVersion() !== undefined) return;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidRequest,
    "The connection is not initialized: send initialize first. Nothing was done.",
  );
}

function toDescription({ prepare: _run, inputSchema, ...tool }: Tool): ToolDescription {
  return { ...tool, inputSchema: { ...inputSchema } };
}

/**
 * A call with valid arguments, or one that returns the problem, so that a model can correct itself.
 * @throws ProtocolError for an unknown tool
 */
function prepareCall(tools: readonly Tool[], name: string, args: unknown): ReturnType<Tool["prepare"]> {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no tool ${JSON.stringify(name)}. There are: ${tools.map((each) => each.name).join(", ")}`,
    );
  try {
    return tool.prepare(args);
  } catch (error) {
    return async () => failureAnswer(error);
  }
}

/** The same document as text and as an object: not every client reads both. */
function toCallResult({ result, isError = false, images = [] }: Answer, session: SessionCosts) {
  const document = { ...result, session };
  const text = { type: "text" as const, text: JSON.stringify(document) };
  return {
    content: [text, ...images.map((image) => ({ type: "image" as const, ...image }))],
    structuredContent: document,
    isError,
  };
}

/** Many clients abort a call after a minute without progress. */
const HEARTBEAT_MS = 10_000;

export interface CallProgress {
  onProgress: OnTaskProgress;
  stop(): void;
}

/** Reports the progress of a call to a client that has asked for it. */
export function reportProgress(
  { _meta, notify }: Pick<ServerContext["mcpReq"], "_meta" | "notify">,
  clock: Clock,
): CallProgress {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { onProgress() {}, stop() {} };
  let progress = 0;
  /** Before the first event the only fact is that the call is running. */
  let lastMessage: { message?: string } = {};
  const tell = () => {
    progress += 1;
    const params = { progressToken, progress, ...lastMessage };
    // A disconnect is detected elsewhere.
    notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const over = new AbortController();
  void repeat(HEARTBEAT_MS, tell, clock, over.signal);
  return {
    onProgress(event) {
      const message = eventText(event);
      if (message === "") return;
      lastMessage = { message };
      tell();
    },
    stop: () => over.abort(),
  };
}

async function repeat(everyMs: number, tell: () => void, clock: Clock, signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(everyMs, signal);
      tell();
    }
  } catch {
    // The call is over.
  }
}

/**
 * The client of the current settings. A client keeps its generator and key: after a change it is replaced, once none
 * of its tasks is running.
 */
export class CurrentClient {
  readonly #open: () => Client;
  #client: Client;
  #terms: string | null = null;
  #replaced: Promise<void> = Promise.resolve();

  constructor(open: () => Client) {
    this.#open = open;
    this.#client = open();
  }

  /**
   * @param terms the generator with all its settings
   * @param isIdle whether no task is running
   */
  async get(terms: string, isIdle: boolean): Promise<Client> {
    this.#terms ??= terms;
    if (terms !== this.#terms && isIdle) {
      const replaced = this.#client;
      this.#terms = terms;
      this.#client = this.#open();
      this.#replaced = replaced.close();
    }
    // Two clients would run one queue.
    await this.#replaced;
    return this.#client;
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
