import path from "node:path";
import { makeFolder } from "../../lib/durable.ts";
import { Accounts } from "./accounts.ts";
import { loadSecret } from "./secret.ts";
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
