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

/** The topic that a command line asks for: `help json`. */
export function topicAsked(argv: readonly string[]): TopicName | typeof MANUAL | undefined {
  const [first, name] = plainWords(argv);
  return first === "help" ? ([...TOPIC_NAMES, MANUAL] as const).find((known) => known === name) : undefined;
}
