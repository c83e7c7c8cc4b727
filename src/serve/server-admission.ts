import { Admission } from "../core/limits/admission.ts";
import { POLICY } from "../core/limits/policy.ts";
import type { ServeOptions } from "./serve-options.ts";

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
    waits: POLICY.serverOutage,
    onOutage: (outage) => {
      if (outage.down) onEvent?.({ kind: "paused", detail: outage.why });
    },
  });
}
