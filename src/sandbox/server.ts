import { systemClock } from "../lib/clock.ts";
import { MODELS } from "../models/matrix.ts";
import { createListener, type Operations } from "../server/http.ts";
import { listenOnLoopback } from "../server/listen.ts";
import { poll, serveFile } from "./poll.ts";
import { openState, type SandboxOptions, type SandboxService } from "./state/state.ts";
import { submit } from "./submit.ts";

export type { RequestLine } from "../server/http.ts";
export { SANDBOX_BASIC_KEY, SANDBOX_KEY } from "./state/accounts.ts";
export type { SandboxNotice, SandboxOptions } from "./state/state.ts";

const DEFAULT_LATENCY_MS = 600;

export interface Sandbox {
  /** `http://127.0.0.1:<port>/api` */
  baseUrl: string;
  port: number;
  latencyMs: number;
  close(): Promise<void>;
}

/**
 * Serves the image service of the document on this machine, for free. It follows the document's rules and prices
 * (1 credit if it has none), and returns real images. If the document is silent:
 * - Refusals have HTTP status 200, except 403 for `SUBSCRIPTION_REQUIRED`, and 400 with
 * `image_generation.error.invalid_request` for errors without a key.
 * - Any key with the prefix `sk-` has an account; only `sk-sandbox-basic` has no subscription.
 * - A running task has the status `processing`; a result URL is valid for an hour.
 * - Reference images are never downloaded.
 * `[sandbox:…]` in a prompt injects a fault: `fail`, `slow=30s`, `no-credits`, `subscription`, `429` (once),
 * `500`, `drop` (the task is charged, but its reply is lost), `truncate` and `html` (for the image), `expired`
 * (the first result URL).
 * @throws the system's error if the port is in use or the folder is unusable
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { credits, latencyMs = DEFAULT_LATENCY_MS, matrix = MODELS, clock = systemClock } = options;
  const state = await openState(options);
  const { server, port, origin, close } = await listenOnLoopback(options.port ?? 0);
  const service = {
    ...options,
    ...state,
    origin,
    latencyMs,
    matrix,
    clock,
    refusedAt: new Map<string, number>(),
  };
  server.on("request", createListener(sandboxOperations(service), options.onRequest));
  try {
    // After the start, because a sandbox that cannot start must not change the balances of a running one.
    if (credits !== undefined) state.accounts.setNamedBalances(credits);
  } catch (error) {
    await close();
    throw error;
  }
  return { baseUrl: `${origin}/api`, port, latencyMs, close };
}

function sandboxOperations(service: SandboxService): Operations {
  return {
    submit: (request, key) => submit(request, service.accounts.find(key), service),
    poll: (request, key) => poll(request, service.accounts.find(key), service),
    file: (address) => serveFile(address, service),
  };
}
