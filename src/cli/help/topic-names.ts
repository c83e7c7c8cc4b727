import { plainWords } from "../session/command.ts";

/** Topics of `imggen help`. A topic must not have the name of a command. */
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

/** Topic of the manual page in roff: `imggen help man | man -l -`. */
export const MANUAL = "man";

/** Topic about the help command, for which the parser has no help. */
export const HELP = "help";

export function requestedTopic(argv: readonly string[]): TopicName | typeof MANUAL | typeof HELP | undefined {
  const [first, name] = plainWords(argv);
  if (first !== "help") return undefined;
  return ([...TOPIC_NAMES, MANUAL, HELP] as const).find((each) => each === name);
}
