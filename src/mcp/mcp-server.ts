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
import { type LineStreams, LineTransport } from "./line-transport.ts";
import type { SessionCosts } from "./session-budget.ts";
import { Jobs } from "./session-jobs.ts";
import type { CallSettings, Tool, Toolbox, ToolFacts } from "./tool.ts";
import { type Answer, failureAnswer } from "./tool-answer.ts";
import { generateImage } from "./tools/generate-image.ts";
import { estimateCost, listModels } from "./tools/model-tools.ts";
import { getTask, history, resumeTasks } from "./tools/task-tools.ts";

export interface ServeOptions extends LineStreams, Omit<Toolbox, keyof CallSettings | "jobs"> {
  settings: (isIdle: boolean) => Promise<CallSettings>;
  close: () => Promise<void>;
  signal: AbortSignal;
  onError: (error: Error) => void;
}

/** Grace period of calls, in milliseconds, first after the client disconnects and again after the calls are aborted. */
const LAST_CALLS_MS = 1000;

/** Serves one MCP client until a pipe is closed or `signal` is aborted. Charged tasks remain in the ledger. */
export async function serve(options: ServeOptions): Promise<void> {
  const { input, write, budget, settings, close, clock, signal, onError } = options;
  const { findTask, generatorModels, generatorTerms } = options;
  const shared = { budget, clock, findTask, generatorModels, generatorTerms, jobs: new Jobs() };
  const transport = new LineTransport({ input, write });
  const server = serveStdio(() => createServer(shared, () => settings(shared.jobs.isIdle)), {
    transport,
    onerror: onError,
  });
  const waitForLastCalls = () => Promise.race([transport.waitUntilAnswered(), clock.sleep(LAST_CALLS_MS)]);
  if (!signal.aborted) await Promise.race([transport.closed, once(signal, "abort")]);
  if (!signal.aborted) await waitForLastCalls();
  await close();
  await waitForLastCalls();
  await server.close();
}

function toolsFor(facts: ToolFacts): readonly Tool[] {
  return [generateImage(facts), getTask, listModels, estimateCost(facts), resumeTasks, history(facts)];
}

const INSTRUCTIONS =
  "imggen generates images, which may cost credits. Every answer reports the session's spent and maximum credits. Repeating a generate_image call never charges twice. get_task waits for a task that is still running, and saves its image.";

/** @param shared state of all servers of the session @param settings reads the user's current settings */
export function createServer(
  shared: Omit<Toolbox, keyof CallSettings>,
  settings: () => Promise<CallSettings>,
): Server {
  const info = { name: "imggen", title: "imggen", version: VERSION };
  const server = new Server(info, { capabilities: { tools: {} }, instructions: INSTRUCTIONS });
  server.setRequestHandler("tools/list", async () => {
    requireInitialized(server);
    const [currentSettings, terms] = await Promise.all([settings(), getTermsInTime(shared)]);
    return { tools: toolsFor({ ...currentSettings, terms }).map(toDescription) };
  });
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    requireInitialized(server);
    const now = await settings().catch(failureAnswer);
    if ("result" in now) return toCallResult(now, shared.budget.costs);
    const run = prepareCall(toolsFor(now), params.name, params.arguments ?? {});
    const { signal } = context.mcpReq;
    // Disables Node's warning about many listeners, because resume_tasks adds a listener for every job of the session.
    setMaxListeners(0, signal);
    const { onProgress, stop } = reportProgress(context.mcpReq, shared.clock);
    const answer = await run({ signal, onProgress }, { ...shared, ...now })
      .catch(failureAnswer)
      .finally(stop);
    return toCallResult(answer, shared.budget.costs);
  });
  return server;
}

/** Timeout of the query for terms, in milliseconds. It is short, because clients wait for the tools at startup. */
const TERMS_MS = 2_000;

/** Returns null if there is no generator, or it does not reply in time. */
async function getTermsInTime({ generatorTerms, clock }: Pick<Toolbox, "generatorTerms" | "clock">) {
  const timerAbort = new AbortController();
  const timeUp = clock.sleep(TERMS_MS, timerAbort.signal).then(
    () => null,
    () => null,
  );
  return Promise.race([generatorTerms().catch(() => null), timeUp]).finally(() => timerAbort.abort());
}

/** @throws ProtocolError before initialization */
function requireInitialized(server: Server): void {
  if (server.getNegotiatedProtocolVersion() !== undefined) return;
  throw new ProtocolError(
    ProtocolErrorCode.InvalidRequest,
    "The connection is not initialized: send initialize first. Nothing was done.",
  );
}

function toDescription({ prepare: _run, inputSchema, ...tool }: Tool): ToolDescription {
  return { ...tool, inputSchema: { ...inputSchema } };
}

/** Invalid arguments become the result, so that a model can correct them. @throws ProtocolError for an unknown tool */
function prepareCall(tools: readonly Tool[], name: string, args: unknown): ReturnType<Tool["prepare"]> {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `There is no tool ${JSON.stringify(name)}. Tools: ${tools.map((each) => each.name).join(", ")}`,
    );
  try {
    return tool.prepare(args);
  } catch (error) {
    return async () => failureAnswer(error);
  }
}

/** Returns the document as text and as an object, because some clients read only the text and some only the object. */
function toCallResult({ result, isError = false, images = [] }: Answer, session: SessionCosts) {
  const document = { ...result, session };
  const text = { type: "text" as const, text: JSON.stringify(document) };
  return {
    content: [text, ...images.map((image) => ({ type: "image" as const, ...image }))],
    structuredContent: document,
    isError,
  };
}

/** Interval of progress reports, in milliseconds. Many clients abort a call after a minute without progress. */
const HEARTBEAT_MS = 10_000;

export interface CallProgress {
  onProgress: OnTaskProgress;
  stop(): void;
}

export function reportProgress(
  { _meta, notify }: Pick<ServerContext["mcpReq"], "_meta" | "notify">,
  clock: Clock,
): CallProgress {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return { onProgress() {}, stop() {} };
  let progress = 0;
  let lastMessage: { message?: string } = {};
  const notifyClient = () => {
    progress += 1;
    const params = { progressToken, progress, ...lastMessage };
    notify({ method: "notifications/progress", params }).catch(() => {});
  };
  const stopAbort = new AbortController();
  void notifyRepeatedly(HEARTBEAT_MS, notifyClient, clock, stopAbort.signal);
  return {
    onProgress(event) {
      const message = eventText(event);
      if (message === "") return;
      lastMessage = { message };
      notifyClient();
    },
    stop: () => stopAbort.abort(),
  };
}

async function notifyRepeatedly(
  everyMs: number,
  notify: () => void,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (;;) {
      await clock.sleep(everyMs, signal);
      notify();
    }
  } catch {
    // The call has ended, because `clock.sleep` throws only after `signal` is aborted.
  }
}

/** After a change of the generator or key, a new client replaces the old one as soon as no task is running. */
export class CurrentClient {
  readonly #open: () => Client;
  #client: Client;
  #terms: string | null = null;
  #previousClosed: Promise<void> = Promise.resolve();

  constructor(open: () => Client) {
    this.#open = open;
    this.#client = open();
  }

  /** @param terms text that identifies the generator and all settings of the generator */
  async get(terms: string, isIdle: boolean): Promise<Client> {
    this.#terms ??= terms;
    if (terms !== this.#terms && isIdle) {
      const previousClient = this.#client;
      this.#terms = terms;
      this.#client = this.#open();
      this.#previousClosed = previousClient.close();
    }
    // Waits until the previous client is closed, because two clients must not run the same queue.
    await this.#previousClosed;
    return this.#client;
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
