import { UsageError } from "../../lib/error-types.ts";
import { truncate } from "../../lib/short-text.ts";
import type { Wording } from "../../lib/wording.ts";
import { fieldText, type RequestInput } from "../../task/request.ts";
import { FIELD_NAMES, type FieldName } from "../../task/request-fields.ts";
import type { Limit } from "../invalid-request.ts";
import type { Matrix, Model } from "../matrix.ts";

/** Names of the fields in messages, such as `--ratio`, by which the user finds the value to change. */
export type Labels = Readonly<Record<FieldName, string>>;

export const FLAG_LABELS = labels(
  (name) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
  {
    prompt: "the prompt",
    fields: "--field",
  },
);

export const FIELD_LABELS = labels((name) => name);

function labels(label: (name: FieldName) => string, others: Partial<Labels> = {}): Labels {
  const entries = FIELD_NAMES.map((name) => [name, others[name] ?? label(name)]);
  return Object.fromEntries(entries) as Labels;
}

export interface RuleInput {
  input: RequestInput;
  model: Model;
  matrix: Matrix;
  labels: Labels;
  /** Whether files can be uploaded. If false, the refusal of a file describes how to set up uploads. */
  uploads?: boolean | undefined;
  /** Fields of an earlier request, which can be replaced but not omitted. */
  inherited?: readonly FieldName[] | undefined;
}

export function removalAdvice(field: FieldName, { inherited }: RuleInput): string {
  return inherited?.includes(field)
    ? "choose another model, or use imggen generate with the prompt"
    : "leave it out";
}

export interface Refusal {
  kind: "refusal";
  message: string;
  hint: Wording;
  limit?: Limit | undefined;
}

export function allowedText(id: string, { field, allowed }: Limit): string {
  return allowed.length === 0 ? `${id} takes no ${field}` : `${id} takes only ${allowed.join(", ")}`;
}

/** Warning that a request omits a saved value. @param why reason as a sentence */
export function leftOutWarning(name: string, value: unknown, why: string): string {
  return `${name} ${quoteValue(fieldText(value))} from config.json is left out. ${why}`;
}

export function isLeftOutWarning(text: string): boolean {
  return text.includes(" from config.json is left out. ");
}

/** A fact that does not prevent the request, but that the user should know before the charge. */
export interface Warning {
  kind: "warning";
  message: string;
}

export type Finding = Refusal | Warning;

/** A rule of the service's document. Returns the first problem of a request, or undefined if there is no problem. */
export type Rule = (subject: RuleInput) => Finding | undefined;

export function refuse(message: string, hint: Wording, limit?: Limit): Refusal {
  return { kind: "refusal", message: capitalise(message), hint: capitaliseHint(hint), limit };
}

export function throwRefusal(refusal: Refusal | null, hint: Wording | undefined = refusal?.hint): void {
  if (refusal) throw new UsageError(`${refusal.message}.`, { hint });
}

export function warning(message: string): Warning {
  return { kind: "warning", message: capitalise(message) };
}

/** Capitalises a sentence, unless it starts with a flag or an id. */
function capitalise(text: string): string {
  return /^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}

function capitaliseHint(hint: Wording): Wording {
  if (typeof hint === "string") return capitalise(hint);
  if (!("texts" in hint)) return hint.map((each, at) => (at === 0 ? capitaliseHint(each) : each));
  const [first = "", ...more] = hint.texts;
  return { ...hint, texts: [capitalise(first), ...more] };
}

const MAX_VALUE_LENGTH = 80;

/** Formats a user's value for a message: truncated if long, quoted if it contains white space. */
export function quoteValue(value: string): string {
  const shortened = truncate(value, MAX_VALUE_LENGTH);
  return shortened === "" || /\s/.test(shortened) ? `"${shortened}"` : shortened;
}

export function modelList(models: readonly Model[]): string {
  return models
    .filter((model) => model.documented)
    .map((model) => model.id)
    .join(", ");
}

/** Joins parts of a hint, and appends models, if any, as alternatives. @param clause what the models do: `take high` */
export function orModelsThat(clause: string, models: readonly Model[], ...parts: readonly string[]): string {
  const modelNames = modelList(models);
  return [...parts, ...(modelNames === "" ? [] : [`models that ${clause}: ${modelNames}`])].join("; ");
}

/** Formats a URL for messages without its password, query and fragment, because they can contain secrets. */
export function quoteUrl(value: string): string {
  return quoteValue(value.replace(/[?#].*$/s, "").replace(/(^https?:\/*|\/\/)[^/]*@/i, "$1"));
}
