import { UsageError } from "../../lib/error-types.ts";
import { truncate } from "../../lib/short-text.ts";
import type { Wording } from "../../lib/wording.ts";
import { fieldText, type RequestInput } from "../../task/request.ts";
import { FIELD_NAMES, type FieldName } from "../../task/request-fields.ts";
import type { Limit } from "../invalid-request.ts";
import type { Matrix, Model } from "../matrix.ts";

/** How an error names each value, so that it points to where the user set it. */
export type Labels = Readonly<Record<FieldName, string>>;

export const FLAG_LABELS = labels(
  (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  {
    prompt: "the prompt",
    fields: "--field",
  },
);

/** Labels for values of a manifest's row, and options of the package. */
export const FIELD_LABELS = labels((name) => name);

function labels(label: (name: FieldName) => string, others: Partial<Labels> = {}): Labels {
  const entries = FIELD_NAMES.map((name) => [name, others[name] ?? label(name)]);
  return Object.fromEntries(entries) as Labels;
}

/** What a rule checks. */
export interface RuleInput {
  input: RequestInput;
  model: Model;
  /** All models, for those that a hint names. */
  matrix: Matrix;
  labels: Labels;
  /**
   * Where reference images may be files: whether they can be uploaded. They stay in the request as they were given, until
   * they are uploaded. Absent: only URLs are taken.
   */
  uploads?: boolean | undefined;
  /** The fields that an earlier request has given, which can be replaced and not left out. */
  inherited?: readonly FieldName[] | undefined;
}

/** What helps where a model does not take a field. */
export function withoutField(field: FieldName, { inherited }: RuleInput): string {
  return inherited?.includes(field)
    ? "choose another model, or give the prompt to imggen generate"
    : "leave it out";
}

/** A violation of the service's document: the message says what and why, the hint what to do next. */
export interface Refusal {
  kind: "refusal";
  message: string;
  hint: Wording;
  limit?: Limit | undefined;
}

/** The values of a field that a model takes, as a clause. */
export function takenText(id: string, { field, allowed }: Limit): string {
  return allowed.length === 0 ? `${id} takes no ${field}` : `${id} takes only ${allowed.join(", ")}`;
}

/** A warning that a saved value is not part of a request. @param why sentence */
export function leftOut(name: string, value: unknown, why: string): string {
  return `${name} ${shown(fieldText(value))} from config.json is left out. ${why}`;
}

/** Whether a warning is one of those. */
export function isLeftOut(text: string): boolean {
  return text.includes(" from config.json is left out. ");
}

/** Something that the document leaves open and the user should know before being charged. */
export interface Warning {
  kind: "warning";
  message: string;
}

export type Finding = Refusal | Warning;

/** One rule of the service. It says at most one thing: the first that the user has to change. */
export type Rule = (subject: RuleInput) => Finding | undefined;

/** @param limit of the model, where a value is not among those that it takes */
export function refuse(message: string, hint: Wording, limit?: Limit): Refusal {
  return { kind: "refusal", message: sentence(message), hint: capitalised(hint), limit };
}

/** @throws UsageError if there is a refusal */
export function throwRefusal(refusal: Refusal | null, hint: Wording | undefined = refusal?.hint): void {
  if (refusal) throw new UsageError(`${refusal.message}.`, { hint });
}

export function warning(message: string): Warning {
  return { kind: "warning", message: sentence(message) };
}

/** Starts a sentence with a capital, unless it starts with a flag or an id. */
function sentence(text: string): string {
  return /^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

function capitalised(hint: Wording): Wording {
  if (typeof hint === "string") return sentence(hint);
  if (!("texts" in hint)) return hint.map((each, at) => (at === 0 ? capitalised(each) : each));
  const [first = "", ...more] = hint.texts;
  return { ...hint, texts: [sentence(first), ...more] };
}

const LONGEST_SHOWN = 80;

/** A user's value inside a sentence: quoted if its ends would be unclear, cut if it is very long. */
export function shown(value: string): string {
  const short = truncate(value, LONGEST_SHOWN);
  return short === "" || /\s/.test(short) ? `"${short}"` : short;
}

/** `a, b, c`, of ids that the service's document lists; empty if it lists none of them. */
export function modelList(models: readonly Model[]): string {
  return models
    .filter((model) => model.documented)
    .map((model) => model.id)
    .join(", ");
}

/** A hint of parts, the last of which names other models, if there are any. @param clause what they do: `take high` */
export function orModelsThat(clause: string, models: readonly Model[], ...parts: readonly string[]): string {
  const others = modelList(models);
  return [...parts, ...(others === "" ? [] : [`models that ${clause}: ${others}`])].join("; ");
}

/** A reference image's URL without possible secrets: a password before the host, a signature in the query. */
export function shownUrl(value: string): string {
  return shown(value.replace(/[?#].*$/s, "").replace(/(^https?:\/*|\/\/)[^/]*@/i, "$1"));
}
