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
 * `unknown directive`: a prompt has a `[sandbox:…]` that does not exist. `unknown subject`: the painter does not know the main
 * noun of a prompt, and paints without it.
 */
export type SandboxNotice =
  | BalanceNotice
  | { kind: "unknown directive"; directive: string }
  | { kind: "unknown subject"; noun: string };

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
  /** Whether an account that cannot pay gets its first credits again. Default: it is refused. */
  refills?: boolean;
  /** Called with what the user of an embedded sandbox should know. */
  onNotice?: ((notice: SandboxNotice) => void) | undefined;
  /** The models that it has. Default: those of the document. */
  matrix?: Matrix;
  /** Draws the images. Default: pictures of what the prompts say. */
  draw?: DrawPicture | undefined;
  clock?: Pick<Clock, "now">;
  /** Called for every request after its reply was sent. */
  onRequest?: (line: RequestLine) => void;
}

/** Everything that outlives a run of the sandbox. Any number of processes may use the same folder. */
export interface State {
  tasks: Tasks;
  accounts: Accounts;
  /** Signs result URLs. */
  secret: string;
}

/** Opens a state folder and creates what is missing. @throws the disk's error */
export async function openState(options: SandboxOptions): Promise<State> {
  const within = (name: string) => path.join(options.folder, name);
  await makeFolder(within("tasks"), 0o700);
  return {
    tasks: new Tasks(within("tasks")),
    accounts: new Accounts(within("accounts.json"), options),
    secret: await loadSecret(within("secret")),
  };
}

/** What the handlers of a running sandbox share. */
export interface SandboxService extends SandboxOptions, State {
  /** Where this server is reached: `http://127.0.0.1:<port>`. */
  origin: string;
  latencyMs: number;
  matrix: Matrix;
  clock: Pick<Clock, "now">;
  /** Times at which submits with the directive `429` were refused, by account and prompt. */
  refusedAt: Map<string, number>;
}
