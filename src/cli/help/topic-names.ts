import { plainWords } from "../session/command.ts";

/** What `imggen help` explains besides commands. `batch` and `sandbox` are commands too: their help comes first. */
export const TOPIC_NAMES = [
  "exit-codes",
  "environment",
  "json",
  "batch",
  "sandbox",
  "scale",
  "uploads",
  "generators",
] as const;

export type TopicName = (typeof TOPIC_NAMES)[number];

/** A paragraph, a heading (`Budget:`) or, after four spaces, a line that is shown as it is; or a term and its text. */
type Block = string | readonly [term: string, text: string];

export type Topic = readonly Block[];

/** The manual page, in roff: `imggen help man | man -l -`. */
export const MANUAL = "man";

/** What the help says of itself: the parser knows no help of `help`. */
export const HELP = "help";

/** The topic that a command line asks for: `help json`. */
export function topicAsked(argv: readonly string[]): TopicName | typeof MANUAL | typeof HELP | undefined {
  const [first, name] = plainWords(argv);
  if (first !== "help") return undefined;
  return ([...TOPIC_NAMES, MANUAL, HELP] as const).find((known) => known === name);
}
