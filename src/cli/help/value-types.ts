import type { Command } from "commander";
import { STATUSES } from "../../core/use-cases/history.ts";
import { KIND_WORDS } from "../../models/find.ts";
import { MODELS, QUALITIES, RATIOS } from "../../models/matrix.ts";
import { SETTING_NAMES } from "../../store/settings-table.ts";
import { PROGRESS_FORMATS } from "../flags/wait-flags.ts";
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

/** What a flag or an argument takes: what completion offers, and a wrapper can check. */
export interface ValueKind {
  type: ValueType;
  /** The known ones. All there are only of a choice and a setting: the service may know other models and ratios. */
  values?: readonly string[];
  /** One word holds several, separated by commas. */
  commaSeparated?: true;
}

/** The shells that there is a completion script for. */
export const SHELLS = ["bash", "zsh", "fish", "powershell"] as const;

const MODEL: ValueKind = { type: "model", values: MODELS.map(({ id }) => id) };
const RATIO: ValueKind = { type: "ratio", values: RATIOS };
const QUALITY: ValueKind = { type: "quality", values: QUALITIES };
const TEXT: ValueKind = { type: "text" };
const SEVERAL = { commaSeparated: true } as const;

const PATHS: ReadonlySet<ValueType> = new Set(["path", "manifest", "folder"]);

/** The first flag or argument of a command that takes a path and was given an empty one. */
export function emptyPathOf(command: Command): string | undefined {
  const takes = (kind: ValueKind | undefined) => kind !== undefined && PATHS.has(kind.type);
  const isEmpty = (value: unknown) => [value].flat().includes("");
  const option = command.options.find(
    (each) =>
      takes(FLAG_VALUES[/<(.+)>/.exec(each.flags)?.[1] ?? ""]) &&
      isEmpty(command.getOptionValue(each.attributeName())),
  );
  const argument = command.registeredArguments.find(
    (each, at) => takes(ARGUMENT_VALUES[each.name()]) && isEmpty(command.processedArgs[at]),
  );
  return option?.long ?? (argument && `<${argument.name()}>`);
}

/** Value kinds by the placeholder of a flag in the help: `duration` of `--timeout <duration>`. */
export const FLAG_VALUES: Readonly<Record<string, ValueKind>> = {
  dir: { type: "folder" },
  duration: { type: "duration" },
  "i/n": TEXT,
  format: { type: "choice", values: PROGRESS_FORMATS },
  id: MODEL,
  image: { type: "path" },
  ids: { ...MODEL, ...SEVERAL },
  kind: { type: "choice", values: [...KIND_WORDS.keys()] },
  form: { type: "choice", values: ["WxH", "width,height", "aspect_ratio"] },
  n: { type: "integer" },
  px: { type: "integer" },
  name: { type: "profile" },
  path: { type: "path" },
  qualities: { ...QUALITY, ...SEVERAL },
  quality: QUALITY,
  ratios: { ...RATIO, ...SEVERAL },
  size: TEXT,
  status: { type: "choice", values: STATUSES },
  template: TEXT,
  text: TEXT,
  url: { type: "url" },
  "w:h": RATIO,
  when: TEXT,
};

/** Value kinds by an argument's name: `taskId` of `<taskId...>`. */
export const ARGUMENT_VALUES: Readonly<Record<string, ValueKind>> = {
  command: { type: "command", values: TOPIC_NAMES },
  dir: { type: "folder" },
  "file|taskId": { type: "task" },
  "manifest|-": { type: "manifest" },
  model: MODEL,
  name: { type: "setting", values: SETTING_NAMES },
  prompt: TEXT,
  taskId: { type: "task" },
  shell: { type: "choice", values: SHELLS },
  value: { type: "value" },
};
