import type { OnTaskProgress } from "../../core/engine/events.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import type { ProviderFields } from "../../task/request-fields.ts";

/** Value of `--seed` that requests a new seed. */
export const RANDOM = "random";

export interface ValueTypes {
  text: string;
  path: string;
  folder: string;
  url: string;
  whole: number;
  seed: WholeNumber;
  seeds: readonly WholeNumber[];
  seedOrRandom: WholeNumber | typeof RANDOM;
  /** Duration in milliseconds, written as `90s` or `5m` on the command line. */
  duration: number;
  /** Switch that is off by default. */
  flag: boolean;
  /** Switch that is on by default. Its flag begins with `--no-`. */
  on: boolean;
  texts: string | readonly string[];
  /** URLs, or paths of files. */
  images: string | readonly string[];
  list: readonly string[];
  fields: ProviderFields;
  signal: AbortSignal;
  listener: OnTaskProgress;
}

export type Kind = keyof ValueTypes;

export type Group = "Prompt and model" | "Output" | "Cost" | "Waiting" | "Advanced";

/** Values that completion suggests. A service or generator might support other values. */
export type SuggestionKind = "model" | "ratio" | "quality" | "profile";

/** One option: a flag with its help, an option of the package, or an argument of an agent's tool. */
export interface Option<OptionKind extends Kind = Kind, Choice extends string = string> {
  kind: OptionKind;
  /** Declaration for the parser: `-m, --model <id>`. Null for options without a flag. */
  flag: string | null;
  help: string;
  group?: Group | undefined;
  min?: number;
  max?: number;
  /** Whether `min` and `max` are only for messages and schemas, because the model matrix checks the value. */
  isAdvisory?: boolean;
  choices?: readonly Choice[];
  suggestions?: SuggestionKind;
  /** Description for agents, required for arguments of tools. */
  agents?: string;
  default?: number | boolean;
  /** Set if the flag overrides a setting, so that the parser of the setting parses the flag. */
  isSetting?: true;
}

export type Options = Readonly<Record<string, Option>>;

type OptionValue<One> =
  One extends Option<infer OptionKind, infer Choice>
    ? OptionKind extends "text"
      ? Choice
      : ValueTypes[OptionKind]
    : never;

export type ValuesOf<Table extends Options> = {
  -readonly [Name in keyof Table]?: OptionValue<Table[Name]> | undefined;
};

type FlagValue<One> = One extends Option<"texts" | "images" | "list"> ? string[] : OptionValue<One>;

type OnNames<Table extends Options> = {
  [Name in keyof Table]: Table[Name] extends Option<"on"> ? Name : never;
}[keyof Table];

export type FlagsOf<Table extends Options> = {
  -readonly [Name in Exclude<keyof Table, OnNames<Table>>]?: FlagValue<Table[Name]> | undefined;
} & { [Name in OnNames<Table>]: boolean };

type OptionExtras<Choice extends string> = Omit<Option<Kind, Choice>, "kind" | "flag" | "help">;

export function option<OfKind extends Kind, Choice extends string = string>(
  kind: OfKind,
  flag: string,
  help: string,
  more: OptionExtras<Choice> = {},
): Option<OfKind, Choice> {
  return { kind, flag, help, ...more };
}

export function noFlag<OfKind extends Kind, Choice extends string = string>(
  kind: OfKind,
  more: OptionExtras<Choice> = {},
): Option<OfKind, Choice> {
  return { kind, flag: null, help: "", ...more };
}

export function pick<Table extends Options, Name extends keyof Table>(
  table: Table,
  ...names: readonly Name[]
): Pick<Table, Name> {
  const entries = names.map((name) => [name, table[name]] as const);
  return Object.fromEntries(entries) as Pick<Table, Name>;
}

export function optionsOfGroup(group: Group) {
  return <OfKind extends Kind, Choice extends string = string>(
    kind: OfKind,
    flag: string,
    help: string,
    more: OptionExtras<Choice> = {},
  ) => option(kind, flag, help, { group, ...more });
}

/** Returns the long flag of an option, such as `--poll-interval`. */
export function longFlag({ flag }: Option): string {
  return /--[a-z-]+/.exec(flag ?? "")?.[0] ?? "";
}
