import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { makeFolder } from "../../lib/durable.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { DrawPicture } from "../../painter/draw-picture.ts";
import type { RequestLine } from "../../server/http.ts";
import { loadSecret } from "../../server/links.ts";
import { Accounts, type BalanceNotice } from "./accounts.ts";
import { Tasks } from "./tasks.ts";

/**
 * `unknown directive`: a `[sandbox:…]` in a prompt does not exist. `unknown subject`: the painter cannot draw the
 * main noun of a prompt.
 */
export type SandboxNotice =
  | BalanceNotice
  | { kind: "unknown directive"; directive: string }
  | { kind: "unknown subject"; noun: string };

export interface SandboxOptions {
  /** Folder of tasks and balances, which several sandboxes may share. Created if missing. */
  folder: string;
  /** Default: 0, any unused port. */
  port?: number;
  /** Duration of a task. Default: 600. */
  latencyMs?: number;
  /** New balance of the accounts of the two named keys, and initial balance of new accounts (default 1000). */
  credits?: number;
  /** Whether a balance that is too low is refilled. Default: the request is refused. */
  refills?: boolean;
  onNotice?: ((notice: SandboxNotice) => void) | undefined;
  matrix?: Matrix;
  /** Default: pictures of the prompts' subjects. */
  draw?: DrawPicture | undefined;
  clock?: Pick<Clock, "now">;
  onRequest?: (line: RequestLine) => void;
}

export interface State {
  tasks: Tasks;
  accounts: Accounts;
  secret: string;
}

/** @throws the disk's error */
export async function openState(options: SandboxOptions): Promise<State> {
  const inFolder = (name: string) => path.join(options.folder, name);
  await makeFolder(inFolder("tasks"), 0o700);
  return {
    tasks: new Tasks(inFolder("tasks")),
    accounts: new Accounts(inFolder("accounts.json"), options),
    secret: await loadSecret(inFolder("secret")),
  };
}

export interface SandboxService extends SandboxOptions, State {
  origin: string;
  latencyMs: number;
  matrix: Matrix;
  clock: Pick<Clock, "now">;
  refusedAt: Map<string, number>;
}
