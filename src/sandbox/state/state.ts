import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { makeFolder } from "../../lib/durable.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { DrawPicture } from "../../painter/draw-picture.ts";
import type { RequestLine } from "../../server/http.ts";
import { loadSecret } from "../../server/links.ts";
import { Accounts, type BalanceNotice } from "./accounts.ts";
import { Tasks } from "./tasks.ts";

/** `unknown directive`: a `[sandbox:…]` that does not exist. `unknown subject`: a noun that cannot be drawn. */
export type SandboxNotice =
  | BalanceNotice
  | { kind: "unknown directive"; directive: string }
  | { kind: "unknown subject"; noun: string };

export interface SandboxOptions {
  /** Folder of tasks and balances, which is created if it is missing. Several sandboxes can share a folder. */
  folder: string;
  /** Default: 0, which means any unused port. */
  port?: number;
  /** Duration of a task in milliseconds. Default: 600. */
  latencyMs?: number;
  /**
   * New balance of the accounts of `SANDBOX_KEY` and `SANDBOX_BASIC_KEY`, and initial balance of all other accounts.
   * Default: balances do not change, and the initial balance is 1000.
   */
  credits?: number;
  /** Whether a balance that is too low is refilled. Default: false, which means that the request is refused. */
  refills?: boolean;
  onNotice?: ((notice: SandboxNotice) => void) | undefined;
  matrix?: Matrix;
  /** Default: draws the subject of the prompt. */
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
