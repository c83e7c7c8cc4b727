import { Chalk, type ChalkInstance } from "chalk";
import type { Environment } from "./context.ts";
import type { OutputStream } from "./output-stream.ts";

/** Colours for a stream: none unless it is a terminal that takes them, or FORCE_COLOR says so. */
export function colorsFor(stream: OutputStream, env: Environment, wanted: boolean): ChalkInstance {
  return new Chalk({ level: wanted ? colorLevel(stream, env) : 0 });
}

function colorLevel(stream: OutputStream, env: Environment): 0 | 1 {
  const force = env.FORCE_COLOR;
  if (env.NO_COLOR) return 0;
  if (force !== undefined) return force === "0" || force === "false" ? 0 : 1;
  return stream.isTTY && env.TERM !== "dumb" ? 1 : 0;
}
