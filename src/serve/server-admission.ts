import { Admission } from "../core/limits/admission.ts";
import type { OutageWaits } from "../core/limits/circuit-breaker.ts";
import type { ServeOptions } from "./serve-options.ts";

/** How long a server waits before each next attempt. It never gives up: no user is there to run a command again. */
const WAITS: OutageWaits = {
  unsent: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000],
  account: [30_000, 60_000, 120_000, 240_000, 300_000],
  lost: [2_000, 5_000, 15_000, 30_000, 60_000],
};

/** One pause for all tasks of this process: an outage costs single attempts, and not a request for each task. */
export function serverAdmission({
  connection,
  clock,
  random,
  onEvent,
}: Pick<ServeOptions, "connection" | "clock" | "random" | "onEvent">): Admission {
  return new Admission(connection.provider, {
    clock,
    random,
    waits: WAITS,
    onOutage: (outage) => {
      if (outage.down) onEvent?.({ kind: "paused", detail: outage.why });
    },
  });
}
