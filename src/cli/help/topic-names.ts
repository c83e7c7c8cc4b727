import { plainWords } from "../app/words.ts";

/** What `imggen help` explains besides commands. `batch` and `sandbox` are commands too: their help comes first. */
export const TOPIC_NAMES = [
  "exit-codes",
  "environment",
  "json",
  "batch",
  "sandbox",
  "scale",
  "uploads",
] as const;

export type TopicName = (typeof TOPIC_NAMES)[number];

/** The manual page, in roff: `imggen help man | man -l -`. */
export const MANUAL = "man";

/** The topic that a command line asks for: `help json`. */
export function topicAsked(argv: readonly string[]): TopicName | typeof MANUAL | undefined {
  const [first, name] = plainWords(argv);
  return first === "help" ? ([...TOPIC_NAMES, MANUAL] as const).find((known) => known === name) : undefined;
}
