import type { HttpReply } from "../api/http-client.ts";
import { parseRetryAfter } from "../api/retry.ts";
import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { inOneLine, shortened } from "../lib/short-text.ts";
import { lenientJson } from "./lenient-json.ts";
import { type Failure, ProviderError } from "./provider.ts";
import type { StoredReply } from "./reply-file.ts";

/** A reply that is not a success. */
export type FailedReply = Pick<HttpReply | StoredReply, "status" | "headers" | "body">;

/** Which server a reply is from, and how it is read. */
export interface Asked {
  /** For messages. */
  host: string;
  isPaid: boolean;
  /** Hides the key: a server may repeat it. */
  mask: (text: string) => string;
  /** The wall clock, for a Retry-After that is a date. */
  nowMs: number;
}

/** Codes of an account that cannot pay, or has reached its limit: requests for other images would fail too. */
const NO_CREDIT =
  /^(insufficient_(user_)?quota|billing_hard_limit_reached|billing_not_active|project_spend_limit_exceeded|budget_exceeded|insufficient_(credits|balance|funds))$/i;
/** Codes of a prompt or an image that the server refuses. */
const MODERATED =
  /moderation|content_?(policy|filter)|safety|prohibited_content|image_generation_user_error/i;
/** The same in words. */
const SAYS_MODERATED =
  /\bmoderat|content[ _-]?(policy|filter)|\bsafety\b|\bnsfw\b|prohibited content|violat\w+ .*polic/i;

/** The error for a reply that is not a success, with the server's own words in it. */
export function failedReply(reply: FailedReply, asked: Asked): ProviderError {
  const said = readErrorBody(asked.mask(String(reply.body)));
  const retryAfterMs = parseRetryAfter(reply.headers["retry-after"], asked.nowMs);
  const [failure, message] = CASES[caseOf(reply.status, said, asked.isPaid, retryAfterMs)];
  const words = `HTTP ${reply.status}${afterColon(said)}`;
  const now = failure.kind === "busy" ? { ...failure, retryAfterMs } : failure;
  return new ProviderError(message(asked.host, words), now);
}

/** The error for a success without an image. A paid one is `lost`, unless a code says that it was not charged. */
export function replyWithoutImage(
  body: string,
  { host, isPaid, mask }: Pick<Asked, "host" | "isPaid" | "mask">,
): ProviderError {
  const said = readErrorBody(mask(body));
  const isRefused = !isPaid || said.codes.some((code) => MODERATED.test(code));
  const kind = saysNoCredit(said) ? "credit" : isRefused ? "refused" : "lost";
  return new ProviderError(`${host} answered without an image${afterColon(said)}.`, CASES[kind][0]);
}

/** Whether a refusal is about the prompt or an image. It is final, whatever else it names. */
export function isModeration({ codes, words }: ErrorBody): boolean {
  return codes.some((code) => MODERATED.test(code)) || SAYS_MODERATED.test(words ?? "");
}

/** Whether a refusal names the model as what is wrong. */
export function namesModel({ codes, field, words }: ErrorBody): boolean {
  const isNamed = /\b(?:model|deployment|checkpoint)\b/i.test(words ?? "");
  return field === "model" || isNamed || codes.some((code) => /model|deployment/i.test(code));
}

function afterColon({ words }: ErrorBody): string {
  return words === null ? "" : `: ${words}`;
}

/** Whether a code among these says that the account cannot pay. */
function saysNoCredit({ codes }: ErrorBody): boolean {
  return codes.some((code) => NO_CREDIT.test(code));
}

type Case = "credit" | "key" | "account" | "missing" | "redirect" | "busy" | "invalid" | "refused" | "lost";

function caseOf(status: number, said: ErrorBody, isPaid: boolean, retryAfterMs: number | null): Case {
  // A server that broke down may have made the image, whatever else it says.
  if (isPaid && status >= 500) return "lost";
  if (saysNoCredit(said) || status === 402) return "credit";
  if (status === 429) return "busy";
  // Made nothing yet, and says when it will: its model loads.
  if (status === 503 && !isPaid && retryAfterMs !== null) return "busy";
  if (LEADS_ELSEWHERE.has(status)) return "redirect";
  if (status === 408 || status < 400 || status >= 500) return "lost";
  if (status === 400 && NO_KEY.test(said.words ?? "")) return "key";
  // One that is in no list, such as a proxy's own 499, proves nothing of what is paid for.
  return isModeration(said) ? "refused" : (REFUSALS.get(status) ?? (isPaid ? "lost" : "refused"));
}

/** Google says with 400 that a key is none. */
const NO_KEY = /\bAPI key (?:not valid|not found|expired)/i;
/** Redirects that say of a POST that it was not handled here. No key goes along one. */
const LEADS_ELSEWHERE: ReadonlySet<number> = new Set([301, 307, 308]);
/** The case of a status, unless the prompt is refused. */
const REFUSALS: ReadonlyMap<number, Case> = new Map([
  [400, "invalid"],
  [401, "key"],
  [403, "account"],
  [404, "missing"],
  [405, "missing"],
  [413, "invalid"],
  [415, "invalid"],
  [422, "invalid"],
]);

const NO_CREDIT_LEFT: Failure = { kind: "account", key: "my_credits.no_credits_description" };
const NO_ACCESS: Failure = { kind: "account", key: "login_required" };
const INVALID: Failure = { kind: "invalid" };

/** The failure of each case, and its message. */
const CASES: Readonly<Record<Case, readonly [Failure, (host: string, words: string) => string]>> = {
  credit: [
    NO_CREDIT_LEFT,
    (host, words) =>
      `The account at ${host} has no credit left, or has reached a limit (${words}). Add credit or raise the limit there.`,
  ],
  key: [
    NO_ACCESS,
    (host, words) =>
      `${host} does not accept the key (${words}). Set one that it accepts: in IMGGEN_GENERATOR_KEY, in the variable of its kind (imggen help environment), or with imggen login --generator.`,
  ],
  account: [NO_ACCESS, (host, words) => `${host} does not let this account make images (${words}).`],
  missing: [
    INVALID,
    (host, words) =>
      `${host} has no such address or model (${words}). Check --generator and --generator-model.`,
  ],
  redirect: [
    INVALID,
    (host, words) =>
      `${host} redirects to another address, and the key is not sent there (${words}). Set --generator to that address.`,
  ],
  busy: [{ kind: "busy", retryAfterMs: null }, (host, words) => `${host} is busy (${words}).`],
  invalid: [INVALID, (host, words) => `${host} does not accept the request (${words}).`],
  refused: [{ kind: "refused" }, (host, words) => `${host} refused the request (${words}).`],
  lost: [{ kind: "lost" }, (host, words) => `No image came from ${host} (${words}).`],
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
  const json = lenientJson(body.replace(/^\uFEFF/, ""));
  if (json === null) return { isJson: false, words: clause(ofText(body)), codes: [], field: null };
  // Google's list of one error, too.
  const outer = [json].flat();
  const parts = [...outer, ...outer.map((each) => fieldsOf(each).error)].filter(isJsonObject);
  const codes = parts.flatMap(({ code, type, status, error }) => [code, type, status, error]);
  const items = outer.flatMap((each) => [each, fieldsOf(each).data].flat()).map(fieldsOf);
  if (items.some(({ respect_moderation: isModerated }) => isModerated === false)) codes.push("moderation");
  const field = parts.map(({ param }) => param).find((param) => typeof param === "string");
  return {
    isJson: true,
    words: clause(wordsIn(json)),
    codes: codes.filter((code) => typeof code === "string" || typeof code === "number").map(String),
    field: typeof field === "string" ? field : null,
  };
}

/** Where servers say what is wrong, the most precise first. */
const ERROR_FIELDS = ["message", "detail", "errors", "error", "msg", "title", "output"] as const;

/** Deeper levels are not read: a server may nest thousands. */
const MOST_LEVELS = 8;

function wordsIn(value: unknown, levels = MOST_LEVELS): string {
  if (typeof value === "string") return value;
  if (levels === 0) return "";
  const within = (each: unknown) => wordsIn(each, levels - 1);
  if (Array.isArray(value)) return value.map(within).filter(Boolean).join("; ");
  if (!isJsonObject(value)) return "";
  const said = ERROR_FIELDS.map((name) => within(value[name])).find((text) => text.trim() !== "") ?? "";
  // Where a field of the request is at fault: `["body", "size"]`.
  return Array.isArray(value.loc) ? `${value.loc.join(".")}: ${said}` : said;
}

function ofText(body: string): string {
  if (!/^\s*</.test(body)) return body;
  const title = /<title[^>]*>([^<]*)/i.exec(body)?.[1]?.trim();
  return title ? `a page with the title “${title}”` : "a page without a title";
}

function clause(text: string): string | null {
  return shortened(inOneLine(text).replace(/\.$/, ""), LONGEST_WORDS) || null;
}
