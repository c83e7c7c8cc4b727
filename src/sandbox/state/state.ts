import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { makeFolder } from "../../lib/durable.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { DrawPicture } from "../../painter/draw-picture.ts";
import type { RequestLine } from "../../server/http.ts";
import { loadSecret } from "../../server/links.ts";
import { Accounts } from "./accounts.ts";
import { Tasks } from "./tasks.ts";
import { Throttle } from "./throttle.ts";

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

/** Everything that outlives a run of the sandbox. Any number of processes may use the same folder. */
export interface State {
  tasks: Tasks;
  accounts: Accounts;
  throttle: Throttle;
  /** Signs result URLs. */
  secret: string;
}

/** Opens a state folder and creates what is missing. @throws the disk's error */
export async function openState({
  folder,
  credits,
  clock,
}: Pick<SandboxService, "folder" | "credits" | "clock">): Promise<State> {
  const within = (name: string) => path.join(folder, name);
  await Promise.all(["tasks", "accounts", "throttle"].map((name) => makeFolder(within(name), 0o700)));
  return {
    tasks: new Tasks(within("tasks")),
    accounts: new Accounts(within("accounts"), credits),
    throttle: new Throttle(within("throttle"), clock),
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
}
