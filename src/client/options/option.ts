import type { OnTaskProgress } from "../../core/engine/events.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import type { ProviderFields } from "../../task/request-fields.ts";

/** Value of `--seed` for a new one. */
export const RANDOM = "random";

/** Values of options by kind. */
export interface Values {
  text: string;
  /** Never empty. */
  path: string;
  folder: string;
  url: string;
  whole: number;
  seed: WholeNumber;
  /** Each once. */
  seeds: readonly WholeNumber[];
  seedOrRandom: WholeNumber | typeof RANDOM;
  /** Milliseconds; `90s` or `5m` on the command line. */
  duration: number;
  /** Off by default. */
  flag: boolean;
  /** On by default: its flag begins with `--no-`. */
  on: boolean;
  texts: string | readonly string[];
  /** Texts that may be paths. */
  images: string | readonly string[];
  /** Texts separated by commas. */
  list: readonly string[];
  fields: ProviderFields;
  signal: AbortSignal;
  listener: OnTaskProgress;
}

export type Kind = keyof Values;

export type Group = "Prompt and model" | "Output" | "Cost" | "Waiting" | "Advanced";

/** Values that completion suggests; a service or generator may support others. */
export type SuggestionKind = "model" | "ratio" | "quality" | "profile";

/** One option: a flag and its line of help, an option of the package, a field of an agent's tool. */
export interface Option<OfKind extends Kind = Kind, Choice extends string = string> {
  kind: OfKind;
  /** Declaration for the parser: `-m, --model <id>`; null for an option of the package only. */
  flag: string | null;
  /** For people, with the default in parentheses at its end. */
  help: string;
  group?: Group | undefined;
  min?: number;
  max?: number;
  /** The limits are only for messages and schemas: the model matrix checks them, unless --no-validate is set. */
  isAdvisory?: boolean;
  /** All values that there are. */
  choices?: readonly Choice[];
  suggestions?: SuggestionKind;
  /** Description for agents. Their tools have only options with one. */
  agents?: string;
  /** The default of an agent's tool. */
  default?: number | boolean;
  /** Overrides a setting: the flag's text is parsed as that setting's. */
  isSetting?: true;
}

export type Options = Readonly<Record<string, Option>>;

type OptionValue<One> =
  One extends Option<infer OfKind, infer Choice> ? (OfKind extends "text" ? Choice : Values[OfKind]) : never;

/** Options of a call of the package. */
export type ValuesOf<Table extends Options> = {
  -readonly [Name in keyof Table]?: OptionValue<Table[Name]> | undefined;
};

type FlagValue<One> = One extends Option<"texts" | "images" | "list"> ? string[] : OptionValue<One>;

type OnNames<Table extends Options> = {
  [Name in keyof Table]: Table[Name] extends Option<"on"> ? Name : never;
}[keyof Table];

/** Flags as the parser gives them. */
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

/** An option without a flag. */
export function noFlag<OfKind extends Kind, Choice extends string = string>(
  kind: OfKind,
  more: OptionExtras<Choice> = {},
): Option<OfKind, Choice> {
  return { kind, flag: null, help: "", ...more };
}

/** Some options of a table. */
export function pick<Table extends Options, Name extends keyof Table>(
  table: Table,
  ...names: readonly Name[]
): Pick<Table, Name> {
  const entries = names.map((name) => [name, table[name]] as const);
  return Object.fromEntries(entries) as Pick<Table, Name>;
}

/** Makes the options of a group. */
export function inGroup(group: Group) {
  return <OfKind extends Kind, Choice extends string = string>(
    kind: OfKind,
    flag: string,
    help: string,
    more: OptionExtras<Choice> = {},
  ) => option(kind, flag, help, { group, ...more });
}

/** `--poll-interval` of its declaration. */
export function longFlag({ flag }: Option): string {
  return /--[a-z-]+/.exec(flag ?? "")?.[0] ?? "";
}
