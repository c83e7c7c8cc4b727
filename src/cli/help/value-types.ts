import type { Command } from "commander";
import { SETTING_LIST } from "../../client/effective-settings.ts";
import { BUILT_IN_VALUES } from "../../client/known-values.ts";
import type { Kind, Option, SuggestionKind } from "../../client/options/option.ts";
import { TOPIC_NAMES } from "./topic-names.ts";

export type ValueType =
  | "boolean"
  | "integer"
  | "duration"
  | "text"
  | "choice"
  | "url"
  | "path"
  | "manifest"
  | "folder"
  | "model"
  | "ratio"
  | "quality"
  | "setting"
  | "profile"
  | "task"
  | "command"
  | "value";

export interface ValueKind {
  type: ValueType;
  /** Models and ratios can be incomplete, because a service can support others. */
  values?: readonly string[] | undefined;
}

export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

const SUGGESTED_VALUES: Readonly<Record<SuggestionKind, ValueKind>> = {
  model: { type: "model", values: BUILT_IN_VALUES.model },
  ratio: { type: "ratio", values: BUILT_IN_VALUES.ratio },
  quality: { type: "quality", values: BUILT_IN_VALUES.quality },
  profile: { type: "profile" },
};

const VALUE_TYPES: { readonly [OfKind in Kind]?: ValueType } = {
  path: "path",
  folder: "folder",
  url: "url",
  whole: "integer",
  seed: "integer",
  duration: "duration",
  flag: "boolean",
  on: "boolean",
  images: "path",
};

export function valueKind({ kind, suggestions, choices }: Option): ValueKind {
  if (suggestions) return SUGGESTED_VALUES[suggestions];
  return choices ? { type: "choice", values: choices } : { type: VALUE_TYPES[kind] ?? "text" };
}

const PATH_TYPES: ReadonlySet<ValueType | undefined> = new Set(["path", "manifest", "folder"]);

export function emptyPathArgument(command: Command): string | undefined {
  const argument = command.registeredArguments.find(
    (each, at) =>
      PATH_TYPES.has(ARGUMENT_VALUES[each.name()]?.type) && [command.processedArgs[at]].flat().includes(""),
  );
  return argument && `<${argument.name()}>`;
}

/** Value kinds by argument name, such as `taskId` for `<taskId...>`. */
export const ARGUMENT_VALUES: Readonly<Record<string, ValueKind>> = {
  command: { type: "command", values: TOPIC_NAMES },
  dir: { type: "folder" },
  "file|taskId": { type: "task" },
  "manifest|-": { type: "manifest" },
  model: SUGGESTED_VALUES.model,
  name: { type: "setting", values: SETTING_LIST.map(({ name }) => name) },
  prompt: { type: "text" },
  taskId: { type: "task" },
  shell: { type: "choice", values: SHELLS },
  value: { type: "value" },
  word: { type: "text" },
};
