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
 * `unknown directive`: a prompt has a `[sandbox:…]` that does not exist. `unknown subject`: the painter does not know
 * the main noun of a prompt, and omits it.
 */
export type SandboxNotice =
  | BalanceNotice
  | { kind: "unknown directive"; directive: string }
  | { kind: "unknown subject"; noun: string };

export interface SandboxOptions {
  /** Folder of tasks and balances; several sandboxes may share it. Created if missing. */
  folder: string;
  /** Default 0: any free port. */
  port?: number;
  /** Duration of a task, in milliseconds. Default 600. */
  latencyMs?: number;
  /**
   * New balance of the two named keys' accounts, and initial balance of others. If absent, existing balances stay,
   * and others start with 1000.
   */
  credits?: number;
  /** Whether an account without enough credits gets its initial balance again. Default: the request is refused. */
  refills?: boolean;
  onNotice?: ((notice: SandboxNotice) => void) | undefined;
  /** Default: the models of the document. */
  matrix?: Matrix;
  /** Default: pictures of the prompts' subjects. */
  draw?: DrawPicture | undefined;
  clock?: Pick<Clock, "now">;
  /** Called after each reply. */
  onRequest?: (line: RequestLine) => void;
}

/** State that survives a run of the sandbox. Processes may share its folder. */
export interface State {
  tasks: Tasks;
  accounts: Accounts;
  /** Signs result URLs. */
  secret: string;
}

/** Creates missing files. @throws the disk's error */
export async function openState(options: SandboxOptions): Promise<State> {
  const within = (name: string) => path.join(options.folder, name);
  await makeFolder(within("tasks"), 0o700);
  return {
    tasks: new Tasks(within("tasks")),
    accounts: new Accounts(within("accounts.json"), options),
    secret: await loadSecret(within("secret")),
  };
}

/** State shared by the handlers of a running sandbox. */
export interface SandboxService extends SandboxOptions, State {
  /** `http://127.0.0.1:<port>`. */
  origin: string;
  latencyMs: number;
  matrix: Matrix;
  clock: Pick<Clock, "now">;
  /** Times at which submits with the directive `429` were refused, by account and prompt. */
  refusedAt: Map<string, number>;
}
