import { UsageError } from "../../lib/error-types.ts";
import { truncate } from "../../lib/short-text.ts";
import type { Wording } from "../../lib/wording.ts";
import { fieldText, type RequestInput } from "../../task/request.ts";
import { FIELD_NAMES, type FieldName } from "../../task/request-fields.ts";
import type { Limit } from "../invalid-request.ts";
import type { Matrix, Model } from "../matrix.ts";

/** Names of the values in messages, which point to where the user set them. */
export type Labels = Readonly<Record<FieldName, string>>;

export const FLAG_LABELS = labels(
  (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  {
    prompt: "the prompt",
    fields: "--field",
  },
);

/** Labels for a manifest's columns and the package's options. */
export const FIELD_LABELS = labels((name) => name);

function labels(label: (name: FieldName) => string, others: Partial<Labels> = {}): Labels {
  const entries = FIELD_NAMES.map((name) => [name, others[name] ?? label(name)]);
  return Object.fromEntries(entries) as Labels;
}

export interface RuleInput {
  input: RequestInput;
  model: Model;
  /** All models, for hints that name others. */
  matrix: Matrix;
  labels: Labels;
  /**
   * Whether reference images can be uploaded. If true or false, files are allowed, and stay in the request until they
   * are uploaded. Absent: only URLs are allowed.
   */
  uploads?: boolean | undefined;
  /** Fields of an earlier request, which can be replaced but not left out. */
  inherited?: readonly FieldName[] | undefined;
}

/** Advice if a model does not support a field. */
export function withoutField(field: FieldName, { inherited }: RuleInput): string {
  return inherited?.includes(field)
    ? "choose another model, or give the prompt to imggen generate"
    : "leave it out";
}

/** A violation of the service's document. */
export interface Refusal {
  kind: "refusal";
  message: string;
  hint: Wording;
  limit?: Limit | undefined;
}

/** The supported values of a field, as a clause. */
export function allowedText(id: string, { field, allowed }: Limit): string {
  return allowed.length === 0 ? `${id} takes no ${field}` : `${id} takes only ${allowed.join(", ")}`;
}

/** A warning that a saved value is not part of a request. @param why sentence */
export function leftOutWarning(name: string, value: unknown, why: string): string {
  return `${name} ${quoteValue(fieldText(value))} from config.json is left out. ${why}`;
}

export function isLeftOutWarning(text: string): boolean {
  return text.includes(" from config.json is left out. ");
}

/** Something undocumented that the user should know before being charged. */
export interface Warning {
  kind: "warning";
  message: string;
}

export type Finding = Refusal | Warning;

/** One rule of the service. Returns at most one finding: the first that the user has to change. */
export type Rule = (subject: RuleInput) => Finding | undefined;

/** @param limit the model's values, if this one is not among them */
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

const MAX_VALUE_LENGTH = 80;

/** A user's value inside a sentence: quoted if blanks would hide its ends, cut if it is long. */
export function quoteValue(value: string): string {
  const short = truncate(value, MAX_VALUE_LENGTH);
  return short === "" || /\s/.test(short) ? `"${short}"` : short;
}

/** `a, b, c`: the ids that the service's document lists. */
export function modelList(models: readonly Model[]): string {
  return models
    .filter((model) => model.documented)
    .map((model) => model.id)
    .join(", ");
}

/** Joins parts of a hint, and adds other models, if any. @param clause what they do: `take high` */
export function orModelsThat(clause: string, models: readonly Model[], ...parts: readonly string[]): string {
  const others = modelList(models);
  return [...parts, ...(others === "" ? [] : [`models that ${clause}: ${others}`])].join("; ");
}

/** A URL for messages, without possible secrets: a password before the host, a signature in the query. */
export function quoteUrl(value: string): string {
  return quoteValue(value.replace(/[?#].*$/s, "").replace(/(^https?:\/*|\/\/)[^/]*@/i, "$1"));
}
