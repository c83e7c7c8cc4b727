import type { ChalkInstance } from "chalk";
import type { Environment } from "../../client/this-process.ts";
import type { OutputStream } from "./output-stream.ts";

/** The terminal's theme makes basic colours legible. The text must show the meaning too, because colours can be off. */
export const TEXT_STYLES = {
  saved: "green",
  warning: "yellow",
  error: "red",
  activity: "cyan",
  heading: "bold",
  detail: "dim",
} as const;

export type TextStyleName = keyof typeof TEXT_STYLES;

export type TextStyle = (name: TextStyleName, text: string) => string;

export const PLAIN: TextStyle = (_name, text) => text;

let chalk: ChalkInstance | null = null;

/** Applies a style in colour; returns plain text until `loadColors` has succeeded. */
export const inColor: TextStyle = (name, text) => (chalk === null ? text : chalk[TEXT_STYLES[name]](text));

/** To save time, does nothing if no stream supports colours. */
export async function loadColors(
  streams: readonly Pick<OutputStream, "isTTY">[],
  env: Environment,
): Promise<void> {
  if (chalk !== null || !streams.some((stream) => takesColors(stream, env))) return;
  try {
    const { Chalk } = await import("chalk");
    chalk = new Chalk({ level: 1 });
  } catch {
    // Output continues without colours if an update has removed the program's files during the run.
  }
}

/** Whether to colour a stream. Default: only a terminal. NO_COLOR, FORCE_COLOR and TERM override the default. */
export function takesColors({ isTTY }: Pick<OutputStream, "isTTY">, env: Environment): boolean {
  const force = env.FORCE_COLOR;
  if (env.NO_COLOR) return false;
  if (force !== undefined) return force !== "0" && force !== "false";
  return isTTY === true && env.TERM !== "dumb";
}

/** Colours an escaped line. @param at index of the line in its text */
export type Paint = (line: string, at: number) => string;

export function headingPaint(style: TextStyle): Paint {
  return (line) => (/^\w[\w -]*:$/.test(line) ? style("heading", line) : line);
}

export function labelPaint(style: TextStyle): Paint {
  return (line) => {
    const [label = ""] = /^(?:error:|warning:|✓)/.exec(line) ?? [];
    return label === "" ? line : style(LABELS[label] ?? "detail", label) + line.slice(label.length);
  };
}

const LABELS: Readonly<Record<string, TextStyleName>> = {
  "error:": "error",
  "warning:": "warning",
  "✓": "saved",
};

export const SAVED_MARK = "✓";

/** Whether a terminal can show symbols. False for the Linux console, which has few symbols, and for ASCII locales. */
export function hasSymbols({ TERM, LC_ALL, LC_CTYPE, LANG }: Environment): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  return TERM !== "dumb" && TERM !== "linux" && locale !== "C" && locale !== "POSIX";
}
