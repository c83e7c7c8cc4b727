import type { Matrix } from "../models/matrix.ts";
import type { DrawPicture } from "../painter/picture.ts";
import type { State } from "./state/state.ts";

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
  /** Called with the main noun of a prompt that the sandbox's own painter does not know. */
  onUnknownSubject: ((noun: string) => void) | undefined;
  /** Draws the images; where it is absent, the sandbox's own painter does. */
  draw: DrawPicture | undefined;
  /** Milliseconds since the epoch. */
  now: () => number;
}
