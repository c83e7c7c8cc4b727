import { styleText } from "node:util";
import type { Environment } from "../../client/this-process.ts";
import type { OutputStream } from "./output-stream.ts";

/**
 * What a colour means, everywhere. Only the terminal's own basic colours: its theme makes them legible on its
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

/** Puts a style on a text, or leaves the text as it is where there are to be no colours. */
export type TextStyle = (name: TextStyleName, text: string) => string;

export const PLAIN: TextStyle = (_name, text) => text;

/** Styles in colour. Without the option, Node would look at its own streams. */
export const inColor: TextStyle = (name, text) =>
  styleText(TEXT_STYLES[name], text, { validateStream: false });

/** Whether a stream takes colours: none does unless it is a terminal that can, or FORCE_COLOR says so. */
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

/** Colours what a line of standard error begins with: the word or the mark that says what kind of line it is. */
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
