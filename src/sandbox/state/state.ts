import path from "node:path";
import { makeFolder } from "../../lib/durable.ts";
import type { Matrix } from "../../models/matrix.ts";
import type { DrawPicture } from "../../painter/picture.ts";
import { loadSecret } from "../links.ts";
import { Accounts } from "./accounts.ts";
import { Tasks } from "./tasks.ts";
import { Throttle } from "./throttle.ts";

/** Everything that outlives a run of the sandbox. Any number of processes may use the same folder. */
export interface State {
  tasks: Tasks;
  accounts: Accounts;
  throttle: Throttle;
  /** Signs result URLs. */
  secret: string;
}

/** Opens a state folder and creates what is missing. @throws the disk's error */
export async function openState(
  folder: string,
  { credits, now }: { credits: number | undefined; now: () => number },
): Promise<State> {
  const within = (name: string) => path.join(folder, name);
  await Promise.all(["tasks", "accounts", "throttle"].map((name) => makeFolder(within(name), 0o700)));
  return {
    tasks: new Tasks(within("tasks")),
    accounts: new Accounts(within("accounts"), credits),
    throttle: new Throttle(within("throttle"), now),
    secret: await loadSecret(within("secret")),
  };
}

/** What the handlers of a running sandbox share. */
export interface SandboxService extends State {
  /** Where this server is reached: `http://127.0.0.1:<port>`. */
  origin: string;
  /** How long a task takes, in milliseconds. */
  latencyMs: number;
  /** The models that it has. */
  matrix: Matrix;
  /** Called when an account was refilled; where it is absent, none is. */
  onRefill: ((credits: number) => void) | undefined;
  /** Called with a directive in a prompt that is none, and so has no effect. */
  onUnknownDirective: ((directive: string) => void) | undefined;
  /** Called with the main noun of a prompt that the sandbox's own painter does not know. */
  onUnknownSubject: ((noun: string) => void) | undefined;
  /** Draws the images; where it is absent, the sandbox's own painter does. */
  draw: DrawPicture | undefined;
  /** Milliseconds since the epoch. */
  now: () => number;
}
