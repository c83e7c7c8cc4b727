import type { State } from "./state/state.ts";

/** What a running sandbox answers from. */
export interface SandboxService extends State {
  /** Where this server is reached: `http://127.0.0.1:<port>`. */
  origin: string;
  /** How long a task takes, in milliseconds. */
  latencyMs: number;
  /** Milliseconds since the epoch. */
  now: () => number;
}
