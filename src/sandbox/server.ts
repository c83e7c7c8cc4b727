import type { Clock } from "../lib/clock.ts";
import { systemClock } from "../lib/clock.ts";
import { type Matrix, MODELS } from "../models/matrix.ts";
import type { DrawPicture } from "../painter/picture.ts";
import { serveFile } from "./files.ts";
import { createListener, type Operations, type RequestLine } from "./http.ts";
import { listenOnLoopback } from "./listen.ts";
import { poll } from "./poll.ts";
import { openState, type SandboxService } from "./state/state.ts";
import { submit } from "./submit.ts";

export type { RequestLine } from "./http.ts";
export { SANDBOX_BASIC_KEY, SANDBOX_KEY } from "./state/accounts.ts";

const DEFAULT_LATENCY_MS = 600;

export interface SandboxOptions {
  /** Keeps tasks and balances between runs; several sandboxes may share it at once. Made if missing. */
  folder: string;
  /** Default 0: any that is free. */
  port?: number;
  /** How long a task takes, in milliseconds. Default 600. */
  latencyMs?: number;
  /**
   * The new balance of the two named keys' accounts, and the initial balance of new ones. If absent, existing balances
   * stay, and new accounts start with 1000.
   */
  credits?: number;
  /**
   * Called when an account that could not pay was given its first credits again, and how many these are. Where it is
   * absent, such an account is refused.
   */
  onRefill?: (credits: number) => void;
  /** Called with a directive in a prompt, `[sandbox:…]`, that is none. */
  onUnknownDirective?: ((directive: string) => void) | undefined;
  /** Called with the main noun of a prompt that is to be painted without it: the painter does not know it. */
  onUnknownSubject?: ((noun: string) => void) | undefined;
  /** The models that it has. Default: those of the document. */
  matrix?: Matrix;
  /** Draws the images. Default: pictures of what the prompts say. */
  draw?: DrawPicture | undefined;
  clock?: Pick<Clock, "now">;
  /** Called for every request after its reply was sent. */
  onRequest?: (line: RequestLine) => void;
}

export interface Sandbox {
  /** `http://127.0.0.1:<port>/api`: what the service's document calls the base address. */
  baseUrl: string;
  port: number;
  /** How long a task takes, in milliseconds, unless its prompt asks for longer. */
  latencyMs: number;
  /** Ends at once, with every connection. */
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
  const { folder, credits, latencyMs = DEFAULT_LATENCY_MS, matrix = MODELS, clock = systemClock } = options;
  const now = () => clock.now();
  const state = await openState(folder, { credits, now });
  const { server, port, origin, close } = await listenOnLoopback(options.port ?? 0);
  const { onRefill, onUnknownDirective, onUnknownSubject, draw } = options;
  const told = { onRefill, onUnknownDirective, onUnknownSubject };
  const service = { ...state, ...told, origin, latencyMs, matrix, now, draw };
  server.on("request", createListener(operationsOf(service), options.onRequest));
  try {
    // Only after listening: a sandbox that cannot start must not change the balances of the one that has the port.
    if (credits !== undefined) await state.accounts.setNamedBalances(credits);
  } catch (error) {
    await close();
    throw error;
  }
  return { baseUrl: `${origin}/api`, port, latencyMs, close };
}

function operationsOf(service: SandboxService): Operations {
  return {
    submit: (request, key) => submit(request, service.accounts.of(key), service),
    poll: (request, key) => poll(request, service.accounts.of(key), service),
    file: (address) => serveFile(address, service),
  };
}
