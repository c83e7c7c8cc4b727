import type { RequestDraft } from "../../task/request.ts";
import type { Labels } from "../labels.ts";
import type { Model } from "../matrix.ts";

/** What a rule looks at. */
export interface Subject {
  draft: RequestDraft;
  model: Model;
  labels: Labels;
}

/** What the service's document rules out: the message says what and why, the hint what to do next. */
export interface Refusal {
  kind: "refusal";
  message: string;
  hint: string;
}

/** What the document leaves open, and the user should know before it is paid for. */
export interface Warning {
  kind: "warning";
  message: string;
}

export type Finding = Refusal | Warning;

/** One rule of the service. It says at most one thing: the first that the user has to change. */
export type Rule = (subject: Subject) => Finding | undefined;

export function refuse(message: string, hint: string): Refusal {
  return { kind: "refusal", message: sentence(message), hint: sentence(hint) };
}

export function warning(message: string): Warning {
  return { kind: "warning", message: sentence(message) };
}

/** A label may stand first ("the prompt"); a flag or an id keeps its spelling. */
function sentence(text: string): string {
  return /^[a-z]+ /.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
}
