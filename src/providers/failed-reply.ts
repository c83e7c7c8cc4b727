import type { HttpReply } from "../api/http-client.ts";
import { statedWaitMs } from "../api/stated-wait.ts";
import type { RefusalDetails } from "../lib/error-types.ts";
import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { shellWord } from "../lib/shell-word.ts";
import { collapseWhitespace, truncate } from "../lib/short-text.ts";
import { type Failure, ProviderError } from "./provider.ts";
import { parseLenientJson } from "./reply-json.ts";
import type { StoredReply } from "./stored-reply.ts";

/** A reply that is not a success. */
export type FailedReply = Pick<HttpReply | StoredReply, "status" | "headers" | "body">;

/** Source of a reply, and the rules for reading it. */
export interface ReplySource {
  /** For messages. */
  host: string;
  /** For commands: its base, without a query. */
  address: string;
  isPaid: boolean;
  /** Whether the request carried a key. */
  hasKey: boolean;
  /** The variable whose key would be sent; absent for none. */
  keyVariable?: string | undefined;
  /** Hides the key: a server may repeat it. */
  mask: (text: string) => string;
  /** The wall clock, for a Retry-After that is a date. */
  nowMs: number;
}

/** The error for a reply that is not a success, with the server's own words in it. */
export function failedReply(reply: FailedReply, source: ReplySource): ProviderError {
  const text = source.mask(String(reply.body));
  const errorBody = readErrorBody(text);
  const waitMs = statedWaitMs({ headers: reply.headers, body: text }, source.nowMs);
  const facts = { status: reply.status, isPaid: source.isPaid, waitMs, errorBody, text };
  const failureCase = RULES.find(([, holds]) => holds(facts))?.[0] ?? (source.isPaid ? "lost" : "refused");
  const [failure, message] =
    CASES[failureCase === "lost" && saysNotCharged(errorBody.words) ? "refused" : failureCase];
  const words = `HTTP ${reply.status}${afterColon(errorBody)}`;
  const details = refusalDetails(errorBody);
  if (failureCase === "key") return new ProviderError(aboutKey(source, words), failure, { details });
  const now = failure.kind === "busy" ? { ...failure, retryAfterMs: waitMs } : failure;
  return new ProviderError(message(source.host, words), now, { details });
}

function aboutKey({ host, address, hasKey, keyVariable }: ReplySource, words: string): string {
  const what = hasKey ? "does not accept the key" : "needs a key, and none was sent";
  const next =
    keyVariable === undefined
      ? `To store one that it accepts: imggen login --generator ${shellWord(address)}`
      : `Set one that it accepts in ${keyVariable}.`;
  return `${host} ${what} (${words}). ${next}`;
}

/** The error for a success without an image. A paid one is `lost`, unless it says that it was not charged. */
export function replyWithoutImage(
  body: string,
  { host, isPaid, mask }: Pick<ReplySource, "host" | "isPaid" | "mask">,
): ProviderError {
  const errorBody = readErrorBody(mask(body));
  const isUncharged = saysNotCharged(errorBody.words) || errorBody.codes.some((code) => MODERATED.test(code));
  const kind = namesNoCredit(errorBody) ? "credit" : !isPaid || isUncharged ? "refused" : "lost";
  const message = `${host} answered without an image${afterColon(errorBody)}.`;
  return new ProviderError(message, CASES[kind][0], { details: refusalDetails(errorBody) });
}

/** Maximum length of a code, and of the name of a field. */
const MAX_NAME_LENGTH = 100;

function refusalDetails({ code, field }: ErrorBody): RefusalDetails {
  const [name, param] = [code, field].map(
    (text) => text && truncate(collapseWhitespace(text), MAX_NAME_LENGTH),
  );
  return { ...(name && { code: name }), ...(param && { param }) };
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

/** Whether a service says that it does not charge for this request. A promise about another one is none. */
export function saysNotCharged(words: string | null): boolean {
  return NOT_CHARGED.test(words ?? "");
}

function afterColon({ words }: ErrorBody): string {
  return words === null ? "" : `: ${words}`;
}

type Case =
  | "credit"
  | "key"
  | "account"
  | "missing"
  | "redirect"
  | "busy"
  | "starting"
  | "invalid"
  | "refused"
  | "lost";

/** A failed reply as the rules see it. */
interface Facts {
  status: number;
  isPaid: boolean;
  /** The time after which another request is allowed, in milliseconds; null if the reply names none. */
  waitMs: number | null;
  errorBody: ErrorBody;
  /** The body, with the key hidden. */
  text: string;
}

/** The meaning of a failed reply: the first rule that holds decides. A paid request that none covers is lost, a free one refused. */
const RULES: readonly (readonly [Case, holds: (reply: Facts) => boolean])[] = [
  // A server that broke down may have made the image, whatever else it says.
  ["lost", ({ status, isPaid }) => isPaid && status >= 500],
  ["credit", (reply) => isAboutLimits(reply) && LASTING_LIMIT.test(reply.text)],
  // Minutes cure it, whatever else its words and codes say.
  ["busy", (reply) => isAboutLimits(reply) && isShort(reply)],
  ["credit", ({ status, errorBody }) => status === 402 || namesNoCredit(errorBody)],
  ["credit", (reply) => isAboutLimits(reply) && isAboutMoney(reply.errorBody)],
  ["busy", ({ status }) => status === 429],
  // It has made nothing yet: its model is loaded first.
  [
    "starting",
    ({ status, isPaid, waitMs, text }) => status === 503 && !isPaid && (waitMs !== null || LOADS.test(text)),
  ],
  // Redirects that say of a POST that it was not handled here. No key goes along one.
  ["redirect", ({ status }) => [301, 307, 308].includes(status)],
  ["lost", ({ status }) => status === 408 || status < 400 || status >= 500],
  // Google says with 400 that a key is none.
  ["key", ({ status, errorBody }) => status === 400 && NO_KEY.test(errorBody.words ?? "")],
  ["refused", ({ errorBody }) => isModeration(errorBody)],
  ["invalid", ({ status }) => [400, 413, 415, 422].includes(status)],
  ["key", ({ status }) => status === 401],
  ["account", ({ status }) => status === 403],
  // Another status, such as a proxy's own 499, proves nothing of what is paid for.
  ["missing", ({ status }) => status === 404 || status === 405],
];

/** Codes of an account that cannot pay, or has reached its limit: requests for other images would fail too. */
const NO_CREDIT =
  /^(insufficient_(user_)?quota|billing_hard_limit_reached|billing_not_active|project_spend_limit_exceeded|budget_exceeded|insufficient_(credits|balance|funds))$/i;
/** Words and codes about money, of services that have no code for it: fal, xAI, SiliconFlow, new-api. */
const ABOUT_MONEY =
  /\b(?:balance|credits?|quota|billing|top(?:ping)? ?up|overdue|arrears|spending limit|30001)\b/i;
/** Codes of a rate limit, whose words may name the plan that has a higher one. */
const RATE_LIMIT = /^(?:rate_?limit|too_?many_?requests|throttl)/i;
/** Google's names of quotas and their values. A limit of 0 is a plan without this model. */
const LASTING_LIMIT = /PerDay(?![a-z])|\blimit: 0\b/;
const LIMIT_PER_MINUTE = /PerMinute|\bper[ _-]minute\b/i;
/** The longest stated time that counts as busy, in milliseconds. */
const MAX_BUSY_MS = 15 * 60_000;

/** Codes of a prompt or an image that the server refuses. */
const MODERATED =
  /moderation|content_?(policy|filter)|safety|prohibited_content|image_generation_user_error/i;
/** The same in words. */
const SAYS_MODERATED =
  /\bmoderat|content[ _-]?(policy|filter)|\bsafety\b|\bnsfw\b|prohibited content|violat\w+ .*polic/i;
/** A model or a server that is not ready yet: llama.cpp, Hugging Face, LocalAI. */
const LOADS = /\bloading\b/i;
const NO_KEY = /\bAPI key (?:not valid|not found|expired)/i;
const NOT_CHARGED =
  /(?:\bnot|n[’']t|\bnever)(?: been| be)? (?:charged|billed)\b(?! (?:again|twice|more|extra|until|unless|if)\b)|\bno (?:charges?|credits?) (?:was|were|has been|have been|will be) (?:made|applied|charged|deducted|used|consumed)\b|\b(?:credits?|charges?) (?:was|were|has been|have been|will be) refunded\b/i;

/** Whether a status may be about the account's rate, quota or credit. */
function isAboutLimits({ status }: Facts): boolean {
  return status === 403 || status === 429;
}

function isShort({ waitMs, text }: Facts): boolean {
  return (waitMs !== null && waitMs <= MAX_BUSY_MS) || LIMIT_PER_MINUTE.test(text);
}

/** Whether a code says that the account cannot pay. */
function namesNoCredit({ codes }: ErrorBody): boolean {
  return codes.some((code) => NO_CREDIT.test(code));
}

function isAboutMoney(errorBody: ErrorBody): boolean {
  const { codes, words } = errorBody;
  if (isModeration(errorBody) || codes.some((code) => RATE_LIMIT.test(code))) return false;
  return [words ?? "", ...codes].some((text) => ABOUT_MONEY.test(text.replace(/[_-]/g, " ")));
}

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
  key: [NO_ACCESS, (host, words) => `${host} does not accept the key (${words}).`],
  account: [NO_ACCESS, (host, words) => `${host} does not let this account make images (${words}).`],
  missing: [
    INVALID,
    (host, words) =>
      `${host} has no such address or model (${words}). Check the address and the model of the generator.`,
  ],
  redirect: [
    INVALID,
    (host, words) =>
      `${host} redirects to another address, and the key is not sent there (${words}). Set the generator to that address.`,
  ],
  busy: [{ kind: "busy", retryAfterMs: null }, (host, words) => `${host} is busy (${words}).`],
  starting: [
    { kind: "busy", retryAfterMs: null, isStarting: true },
    (host, words) => `${host} is not ready yet (${words}).`,
  ],
  invalid: [INVALID, (host, words) => `${host} does not accept the request (${words}).`],
  refused: [{ kind: "refused" }, (host, words) => `${host} refused the request (${words}).`],
  lost: [{ kind: "lost" }, (host, words) => `No image came from ${host} (${words}).`],
};

/** Messages for failures of a generator's server. */
export interface ErrorBody {
  isJson: boolean;
  /** Its own words in one line, without a full stop at the end; null if it says nothing. */
  words: string | null;
  /** Every code and type that it names, as text. */
  codes: readonly string[];
  /** The code of the error itself; null for none. */
  code: string | null;
  /** The field of the request that it names; null for none. */
  field: string | null;
}

const MAX_WORDS_LENGTH = 500;

/**
 * Reads the body of a refusal in any of the forms that servers use: OpenAI's object, a text, `detail` as a text or a
 * list, a code beside a message, a page, plain text, nothing.
 */
export function readErrorBody(body: string): ErrorBody {
  const json = parseLenientJson(body.replace(/^\uFEFF/, ""));
  if (json === null)
    return { isJson: false, words: clause(bodyText(body)), codes: [], code: null, field: null };
  // Google's list of one error, too.
  const outer = [json].flat();
  const parts = [...outer, ...outer.map((each) => fieldsOf(each).error)].filter(isJsonObject);
  const codes = parts.flatMap(({ code, type, status, error }) => [code, type, status, error]);
  const items = outer.flatMap((each) => [each, fieldsOf(each).data].flat()).map(fieldsOf);
  if (items.some(({ respect_moderation: isModerated }) => isModerated === false)) codes.push("moderation");
  const field = parts.map(({ param }) => param).find((param) => typeof param === "string");
  const isCode = (code: unknown) => typeof code === "string" || typeof code === "number";
  const code = parts.map((part) => part.code).findLast(isCode);
  return {
    isJson: true,
    words: clause(wordsIn(json)),
    codes: codes.filter(isCode).map(String),
    code: code === undefined ? null : String(code),
    field: typeof field === "string" ? field : null,
  };
}

/** Fields of servers' error messages, the most precise first. */
const ERROR_FIELDS = ["message", "detail", "errors", "error", "msg", "title", "output"] as const;

/** Deeper levels are not read: a server may nest thousands. */
const MAX_LEVELS = 8;

function wordsIn(value: unknown, levels = MAX_LEVELS): string {
  if (typeof value === "string") return value;
  if (levels === 0) return "";
  const within = (each: unknown) => wordsIn(each, levels - 1);
  if (Array.isArray(value)) return value.map(within).filter(Boolean).join("; ");
  if (!isJsonObject(value)) return "";
  const errorBody = ERROR_FIELDS.map((name) => within(value[name])).find((text) => text.trim() !== "") ?? "";
  // Where a field of the request is at fault: `["body", "size"]`.
  return Array.isArray(value.loc) ? `${value.loc.join(".")}: ${errorBody}` : errorBody;
}

function bodyText(body: string): string {
  if (!/^\s*</.test(body)) return body;
  const title = /<title[^>]*>([^<]*)/i.exec(body)?.[1]?.trim();
  return title ? `a page with the title “${title}”` : "a page without a title";
}

function clause(text: string): string | null {
  return truncate(collapseWhitespace(text).replace(/\.$/, ""), MAX_WORDS_LENGTH) || null;
}
