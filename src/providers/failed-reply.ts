import type { HttpReply } from "../api/client.ts";
import { parseRetryAfter } from "../api/retry.ts";
import { fieldsOf, isJsonObject, jsonOrNull } from "../lib/json.ts";
import { GeneratorError, type GeneratorFailure } from "./generator.ts";
import type { StoredReply } from "./reply-file.ts";

/** A reply that is not a success. */
export type FailedReply = Pick<HttpReply | StoredReply, "status" | "headers" | "body">;

/** Whose it is. */
export interface Asked {
  /** For messages: the server. */
  host: string;
  isPaid: boolean;
  /** Hides the key: a server may repeat it. */
  mask: (text: string) => string;
  /** The wall clock, for a Retry-After that is a date. */
  nowMs: number;
}

/** Codes of an account that cannot pay, or has reached its limit: to ask again for another image would be no use. */
const NO_CREDIT =
  /^(insufficient_(user_)?quota|billing_hard_limit_reached|billing_not_active|project_spend_limit_exceeded|budget_exceeded|insufficient_(credits|balance|funds))$/i;
/** Codes of a prompt or an image that the server will not have, whatever the status. */
const MODERATED = /moderation|content_?(policy|filter)|safety|image_generation_user_error/i;

/** What a reply that is not a success means, with the server's own words in it. */
export function failedReply(reply: FailedReply, asked: Asked): GeneratorError {
  const said = readErrorBody(asked.mask(String(reply.body)));
  const retryAfterMs = parseRetryAfter(reply.headers["retry-after"], asked.nowMs);
  const kind = caseOf(reply.status, said, asked.isPaid, retryAfterMs);
  const words = `HTTP ${reply.status}${afterColon(said)}`;
  return new GeneratorError(MESSAGES[kind](asked.host, words), failureOf(kind, retryAfterMs));
}

/**
 * What a success means that has no image in it. What is no JSON is not the generator's own word, but that of a proxy or
 * a portal before it, which cannot say that a request was not paid for.
 */
export function replyWithoutImage(
  body: string,
  { host, isPaid, mask }: Pick<Asked, "host" | "isPaid" | "mask">,
): GeneratorError {
  const said = readErrorBody(mask(body));
  const words = afterColon(said);
  if (isPaid && !said.isJson)
    return new GeneratorError(MESSAGES.lost(host, `HTTP 200${words}`), { kind: "lost" });
  const message = `${host} answered without an image${words}.`;
  return new GeneratorError(message, failureOf(saysNoCredit(said) ? "credit" : "refused"));
}

function afterColon({ words }: ErrorBody): string {
  return words === null ? "" : `: ${words}`;
}

/** Whether a code among these says that the account cannot pay. */
function saysNoCredit({ codes }: ErrorBody): boolean {
  return codes.some((code) => NO_CREDIT.test(code));
}

type Case = "credit" | "key" | "account" | "address" | "redirect" | "busy" | "refused" | "lost";

function caseOf(status: number, said: ErrorBody, isPaid: boolean, retryAfterMs: number | null): Case {
  if (saysNoCredit(said) || status === 402) return "credit";
  if (status === 429) return "busy";
  // Made nothing yet, and says when it will: its model loads.
  if (status === 503 && !isPaid && retryAfterMs !== null) return "busy";
  if (LEADS_ELSEWHERE.has(status)) return "redirect";
  if (status === 408 || status < 400 || status >= 500) return "lost";
  const isModerated = said.codes.some((code) => MODERATED.test(code));
  return (!isModerated && REFUSES_ALL.get(status)) || "refused";
}

/** Redirects that say of a POST that it was not handled here. No key goes along one. */
const LEADS_ELSEWHERE: ReadonlySet<number> = new Set([301, 307, 308]);
/** The key, the account, the address or the model is wrong, and would be for every other request too. */
const REFUSES_ALL: ReadonlyMap<number, Case> = new Map([
  [401, "key"],
  [403, "account"],
  [404, "address"],
  [405, "address"],
]);

function failureOf(kind: Case, retryAfterMs: number | null = null): GeneratorFailure {
  switch (kind) {
    case "busy":
      return { kind, retryAfterMs };
    case "refused":
    case "lost":
      return { kind };
    case "credit":
      return { kind: "account", key: "my_credits.no_credits_description" };
    default:
      return { kind: "account", key: "login_required" };
  }
}

const MESSAGES: Readonly<Record<Case, (host: string, words: string) => string>> = {
  credit: (host, words) =>
    `The account at ${host} has no credit left, or has reached a limit (${words}). Add credit or raise the limit there.`,
  key: (host, words) =>
    `${host} does not accept the key (${words}). Give it one that it accepts: IMGGEN_GENERATOR_KEY (for OpenAI OPENAI_API_KEY too), or imggen login --generator.`,
  account: (host, words) => `${host} does not let this account make images (${words}).`,
  address: (host, words) =>
    `${host} has no such address or model (${words}). Check --generator and --generator-model.`,
  redirect: (host, words) =>
    `${host} leads to another address, where the key does not go along (${words}). Give --generator that address.`,
  busy: (host, words) => `${host} is busy (${words}).`,
  refused: (host, words) => `${host} refused the request (${words}).`,
  lost: (host, words) => `The request was sent to ${host}, and no image came back (${words}).`,
};

/** What a generator's server says of a failure. */
export interface ErrorBody {
  isJson: boolean;
  /** Its own words in one line, without a full stop at the end; null if it says nothing. */
  words: string | null;
  /** Every code and type that it names, as text. */
  codes: readonly string[];
  /** The field of the request that it names; null for none. */
  field: string | null;
}

const LONGEST_WORDS = 500;

/**
 * Reads the body of a refusal in any of the forms that servers use: OpenAI's object, a text, `detail` as a text or a
 * list, a code beside a message, a page, plain text, nothing.
 */
export function readErrorBody(body: string): ErrorBody {
  const json = jsonOrNull(body.replace(/^\uFEFF/, ""));
  if (json === null) return { isJson: false, words: inOneLine(ofText(body)), codes: [], field: null };
  // Google's list of one error, too.
  const outer = [json].flat();
  const parts = [...outer, ...outer.map((each) => fieldsOf(each).error)].filter(isJsonObject);
  const codes = parts.flatMap(({ code, type, status, error }) => [code, type, status, error]);
  const field = parts.map(({ param }) => param).find((param) => typeof param === "string");
  return {
    isJson: true,
    words: inOneLine(wordsIn(json)),
    codes: codes.filter((code) => typeof code === "string" || typeof code === "number").map(String),
    field: typeof field === "string" ? field : null,
  };
}

/** Where servers say what is wrong, the most precise first. */
const ERROR_FIELDS = ["message", "detail", "errors", "error", "msg", "title"] as const;

function wordsIn(value: unknown): string {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(wordsIn).filter(Boolean).join("; ");
  if (!isJsonObject(value)) return "";
  const said = ERROR_FIELDS.map((name) => wordsIn(value[name])).find((text) => text.trim() !== "") ?? "";
  // Where a field of the request is at fault: `["body", "size"]`.
  return Array.isArray(value.loc) ? `${value.loc.join(".")}: ${said}` : said;
}

function ofText(body: string): string {
  if (!/^\s*</.test(body)) return body;
  const title = /<title[^>]*>([^<]*)/i.exec(body)?.[1]?.trim();
  return title ? `a page with the title “${title}”` : "a page without a title";
}

function inOneLine(text: string): string | null {
  const line = text.replace(/\s+/g, " ").trim();
  if (line === "") return null;
  return line.length > LONGEST_WORDS ? `${line.slice(0, LONGEST_WORDS)}…` : line.replace(/\.$/, "");
}
