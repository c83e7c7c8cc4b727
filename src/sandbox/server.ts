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
  /** `http://127.0.0.1:<port>/api`, the base address. */
  baseUrl: string;
  port: number;
  /** Duration of a task, in milliseconds, unless its prompt sets one. */
  latencyMs: number;
  /** Closes at once, with every connection. */
  close(): Promise<void>;
}

/**
 * Serves the whole image service of the document on this machine, for free: for people without an account, and for
 * testing scripts. It refuses what the document rules out, accepts what it leaves open, charges its prices (1 credit if
 * it gives none), and returns real images. A few choices are the sandbox's own:
 *
 * - Refusals have HTTP status 200, as the document shows no other but 403 `SUBSCRIPTION_REQUIRED`; what it
 *   gives no key for has 400 and `image_generation.error.invalid_request`.
 * - Any key with the prefix `sk-` has an account; `sk-sandbox-basic` is the only one without a subscription.
 * - A running task has the status `processing`; a result URL is valid for an hour.
 * - Reference images are never downloaded.
 *
 * `[sandbox:…]` in a prompt injects a fault: `fail`, `slow=30s`, `no-credits`, `subscription`, `429` (once), `500`,
 * `drop` (the task is charged, the reply lost), `truncate`, `html` (both for the image) and `expired` (the first result
 * URL is gone). Directives can be combined, and are removed before anything is drawn.
 *
 * @throws the system's error if the port is taken or the folder cannot be used
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
    // After listening: a sandbox that cannot start must not change the balances of the one that has the port.
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
