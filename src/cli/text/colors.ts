import type { ChalkInstance } from "chalk";
import type { Environment } from "../../client/this-process.ts";
import type { OutputStream } from "./output-stream.ts";

/**
 * The meaning of each colour. Only the terminal's basic colours: its theme makes them legible on its
 * background, light or dark. They go on marks and labels, and never carry a meaning alone.
 */
export const TEXT_STYLES = {
  saved: "green",
  warning: "yellow",
  error: "red",
  activity: "cyan",
  heading: "bold",
  detail: "dim",
} as const;

export type TextStyleName = keyof typeof TEXT_STYLES;

/** Applies a style to a text, or returns the text unchanged if colours are off. */
export type TextStyle = (name: TextStyleName, text: string) => string;

export const PLAIN: TextStyle = (_name, text) => text;

let chalk: ChalkInstance | null = null;

/** The styles in colour, once they are loaded. */
export const inColor: TextStyle = (name, text) => (chalk === null ? text : chalk[TEXT_STYLES[name]](text));

/** Loads the styles in colour if a stream takes any: most output has none. */
export async function loadColors(
  streams: readonly Pick<OutputStream, "isTTY">[],
  env: Environment,
): Promise<void> {
  if (chalk !== null || !streams.some((stream) => takesColors(stream, env))) return;
  try {
    const { Chalk } = await import("chalk");
    chalk = new Chalk({ level: 1 });
  } catch {
    // An update has replaced the program's files while it ran: the text matters more than its colour.
  }
}

/** Whether a stream takes colours: a terminal that supports them, or any if FORCE_COLOR is set. */
export function takesColors({ isTTY }: Pick<OutputStream, "isTTY">, env: Environment): boolean {
  const force = env.FORCE_COLOR;
  if (env.NO_COLOR) return false;
  if (force !== undefined) return force !== "0" && force !== "false";
  return isTTY === true && env.TERM !== "dumb";
}

/** Colours a line that is escaped already. @param at 0 for the first line of the text */
export type Paint = (line: string, at: number) => string;

/** Sets the headings of help in bold. */
export function headingPaint(style: TextStyle): Paint {
  return (line) => (/^\w[\w -]*:$/.test(line) ? style("heading", line) : line);
}

/** Colours the label at the beginning of a line of standard error: its first word or mark. */
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

/** Precedes the line of an image that was saved. */
export const SAVED_MARK = "✓";

/**
 * Whether a terminal has more than letters: a dumb one may not, Linux's own console has few other characters, and the
 * locale C is ASCII.
 */
export function hasSymbols({ TERM, LC_ALL, LC_CTYPE, LANG }: Environment): boolean {
  const locale = LC_ALL || LC_CTYPE || LANG;
  return TERM !== "dumb" && TERM !== "linux" && locale !== "C" && locale !== "POSIX";
}
