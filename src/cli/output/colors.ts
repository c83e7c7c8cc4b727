import { Chalk, type ChalkInstance } from "chalk";
import type { Environment } from "../app/context.ts";
import type { Paint } from "./console.ts";
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

/** Colours the word that an error begins with. */
export function errorPaint({ red }: ChalkInstance): Paint {
  return (line, at) => (at === 0 ? line.replace(/^error:/, (word) => red(word)) : line);
}

/** Sets off the first line: a table's headings, or a title. */
export function headingPaint({ bold }: ChalkInstance): Paint {
  return (line, at) => (at === 0 ? bold(line) : line);
}
