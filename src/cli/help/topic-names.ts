import { plainWords } from "../session/command.ts";

/** Topics of `imggen help` besides commands. A command of the same name would hide a topic. */
export const TOPIC_NAMES = [
  "exit-codes",
  "environment",
  "settings",
  "json",
  "json-commands",
  "events",
  "matrix",
  "manifests",
  "scale",
  "uploads",
  "generators",
  "generator-options",
  "generator-costs",
  "comfyui",
  "sdapi",
  "openai",
  "command",
  "replicate",
  "fal",
  "bfl",
  "gemini",
  "npm",
] as const;

export type TopicName = (typeof TOPIC_NAMES)[number];

/** The manual page, in roff: `imggen help man | man -l -`. */
export const MANUAL = "man";

/** The topic about help itself: the parser has no help for `help`. */
export const HELP = "help";

/** The topic that a command line asks for: `help json`. */
export function requestedTopic(argv: readonly string[]): TopicName | typeof MANUAL | typeof HELP | undefined {
  const [first, name] = plainWords(argv);
  if (first !== "help") return undefined;
  return ([...TOPIC_NAMES, MANUAL, HELP] as const).find((each) => each === name);
}
