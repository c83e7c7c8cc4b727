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
 * Serves a free imitation of the image service on this machine. It follows the rules and prices of the service's
 * document, and returns real images. These rules are not in the document:
 * - A request without a documented price costs 1 credit.
 * - A refusal with a key of the document has HTTP status 200, or 403 for `SUBSCRIPTION_REQUIRED`. Any other invalid
 * request is refused with `image_generation.error.invalid_request` and a status from 400.
 * - Any key with the prefix `sk-` has an account. Only the account of `sk-sandbox-basic` has no subscription.
 * - A running task has the status `processing`. A result URL is valid for an hour.
 * - Reference images are never downloaded.
 * - `[sandbox:…]` in a prompt injects a fault: `fail`, `slow=30s`, `no-credits`, `subscription`, `429` (once), `500`,
 * `drop` (the task is charged, but the reply is lost), `truncate` (half an image), `html` (a page in place of an
 * image), `expired` (the first result URL has expired).
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
    // Balances are set after the start, because a failed start must not change the balances of a running sandbox.
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
