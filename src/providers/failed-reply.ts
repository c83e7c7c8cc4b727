import type { HttpReply } from "../api/http-client.ts";
import { statedWaitMs } from "../api/stated-wait.ts";
import type { RefusalDetails } from "../lib/error-types.ts";
import { fieldsOf, isJsonObject } from "../lib/json.ts";
import { shellWord } from "../lib/shell-word.ts";
import { collapseWhitespace, truncate } from "../lib/short-text.ts";
import { type Failure, ProviderError } from "./provider.ts";
import { parseLenientJson } from "./reply-json.ts";
import type { StoredReply } from "./stored-reply.ts";

export type FailedReply = Pick<HttpReply | StoredReply, "status" | "headers" | "body">;

export interface ReplySource {
  host: string;
  /** Base URL without a query, for commands in messages. */
  address: string;
  isPaid: boolean;
  hasKey: boolean;
  /** Environment variable for the key; absent if the server's address has none. */
  keyVariable?: string | undefined;
  /** Hides the key in a text, because a server might repeat the key in its reply. */
  mask: (text: string) => string;
  /** Current time, because a `Retry-After` header can contain a date. */
  nowMs: number;
}

export function failedReply(reply: FailedReply, source: ReplySource): ProviderError {
  const text = source.mask(String(reply.body));
  const errorBody = readErrorBody(text);
  const waitMs = statedWaitMs({ headers: reply.headers, body: text }, source.nowMs);
  const facts = { status: reply.status, isPaid: source.isPaid, waitMs, errorBody, text };
  const failureCase =
    RULES.find(([, matches]) => matches(facts))?.[0] ?? (source.isPaid ? "lost" : "refused");
  const [failure, message] =
    CASES[failureCase === "lost" && statesNoCharge(errorBody.words) ? "refused" : failureCase];
  const words = `HTTP ${reply.status}${afterColon(errorBody)}`;
  const details = refusalDetails(errorBody);
  if (failureCase === "key") return new ProviderError(keyMessage(source, words), failure, { details });
  const timedFailure = failure.kind === "busy" ? { ...failure, retryAfterMs: waitMs } : failure;
  return new ProviderError(message(source.host, words), timedFailure, { details });
}

function keyMessage({ host, address, hasKey, keyVariable }: ReplySource, words: string): string {
  const problem = hasKey ? "does not accept the key" : "needs a key, but the request had none";
  const advice =
    keyVariable === undefined
      ? `To store a valid key: imggen login --generator ${shellWord(address)}`
      : `Set a valid key in ${keyVariable}.`;
  return `${host} ${problem} (${words}). ${advice}`;
}

/** A paid request is `lost`, because it might have been charged, unless the reply shows that it was not. */
export function replyWithoutImage(
  body: string,
  { host, isPaid, mask }: Pick<ReplySource, "host" | "isPaid" | "mask">,
): ProviderError {
  const errorBody = readErrorBody(mask(body));
  const isUncharged =
    statesNoCharge(errorBody.words) || errorBody.codes.some((code) => MODERATION_CODE.test(code));
  const kind = hasNoCreditCode(errorBody) ? "credit" : !isPaid || isUncharged ? "refused" : "lost";
  const message = `${host} sent a reply without an image${afterColon(errorBody)}.`;
  return new ProviderError(message, CASES[kind][0], { details: refusalDetails(errorBody) });
}

const MAX_NAME_LENGTH = 100;

function refusalDetails({ code, field }: ErrorBody): RefusalDetails {
  const [name, param] = [code, field].map(
    (text) => text && truncate(collapseWhitespace(text), MAX_NAME_LENGTH),
  );
  return { ...(name && { code: name }), ...(param && { param }) };
}

/** Whether the server refused the content of the prompt or of an image. */
export function isModeration({ codes, words }: ErrorBody): boolean {
  return codes.some((code) => MODERATION_CODE.test(code)) || MODERATION_MESSAGE.test(words ?? "");
}

export function isAboutModel({ codes, field, words }: ErrorBody): boolean {
  const isNamed = /\b(?:model|deployment|checkpoint)\b/i.test(words ?? "");
  return field === "model" || isNamed || codes.some((code) => /model|deployment/i.test(code));
}

/** Whether a message states that this request was not charged. "Not charged again" does not match. */
export function statesNoCharge(words: string | null): boolean {
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

interface Facts {
  status: number;
  isPaid: boolean;
  /** Milliseconds until another request is allowed; null if the reply contains no such time. */
  waitMs: number | null;
  errorBody: ErrorBody;
  /** Body of the reply, with the key hidden. */
  text: string;
}

/** The first rule that matches decides. */
const RULES: readonly (readonly [Case, matches: (reply: Facts) => boolean])[] = [
  // This rule is first, because the server might have made and charged an image before it failed.
  ["lost", ({ status, isPaid }) => isPaid && status >= 500],
  ["credit", (reply) => isAboutLimits(reply) && LASTING_LIMIT.test(reply.text)],
  // A limit that resets within minutes means that the server is busy, even if the message is about money.
  ["busy", (reply) => isAboutLimits(reply) && isShortLimit(reply)],
  ["credit", ({ status, errorBody }) => status === 402 || hasNoCreditCode(errorBody)],
  ["credit", (reply) => isAboutLimits(reply) && isAboutMoney(reply.errorBody)],
  ["busy", ({ status }) => status === 429],
  // A server that is still loading its model has made no image.
  [
    "starting",
    ({ status, isPaid, waitMs, text }) =>
      status === 503 && !isPaid && (waitMs !== null || MODEL_LOADING.test(text)),
  ],
  // These redirects prove that the POST was not processed. They are not followed, so that no other host gets the key.
  ["redirect", ({ status }) => [301, 307, 308].includes(status)],
  ["lost", ({ status }) => status === 408 || status < 400 || status >= 500],
  // Google reports an invalid key with status 400.
  ["key", ({ status, errorBody }) => status === 400 && INVALID_KEY_MESSAGE.test(errorBody.words ?? "")],
  ["refused", ({ errorBody }) => isModeration(errorBody)],
  ["invalid", ({ status }) => [400, 413, 415, 422].includes(status)],
  ["key", ({ status }) => status === 401],
  ["account", ({ status }) => status === 403],
  ["missing", ({ status }) => status === 404 || status === 405],
  // With any other status, such as a proxy's 499, a paid request is `lost`, because it might have been charged.
];

/** Codes for an account that has no credit or has reached a limit. */
const NO_CREDIT_CODE =
  /^(insufficient_(user_)?quota|billing_hard_limit_reached|billing_not_active|project_spend_limit_exceeded|budget_exceeded|insufficient_(credits|balance|funds))$/i;
/** Words and codes about money, for services that have no code in `NO_CREDIT_CODE`: fal, xAI, SiliconFlow, new-api. */
const ABOUT_MONEY =
  /\b(?:balance|credits?|quota|billing|top(?:ping)? ?up|overdue|arrears|spending limit|30001)\b/i;
/** Codes of a rate limit. A message with such a code can contain words about money, for example about another plan. */
const RATE_LIMIT_CODE = /^(?:rate_?limit|too_?many_?requests|throttl)/i;
/** Google's names of daily quotas, or a quota of 0, which means that the plan does not include the model. */
const LASTING_LIMIT = /PerDay(?![a-z])|\blimit: 0\b/;
const LIMIT_PER_MINUTE = /PerMinute|\bper[ _-]minute\b/i;
/** Maximum wait for which a server counts as busy, and its account not as out of credit. */
const MAX_BUSY_MS = 15 * 60_000;

const MODERATION_CODE =
  /moderation|content_?(policy|filter)|safety|prohibited_content|image_generation_user_error/i;
const MODERATION_MESSAGE =
  /\bmoderat|content[ _-]?(policy|filter)|\bsafety\b|\bnsfw\b|prohibited content|violat\w+ .*polic/i;
/** Matches the messages of llama.cpp, Hugging Face and LocalAI while a model is loading. */
const MODEL_LOADING = /\bloading\b/i;
const INVALID_KEY_MESSAGE = /\bAPI key (?:not valid|not found|expired)/i;
const NOT_CHARGED =
  /(?:\bnot|n[’']t|\bnever)(?: been| be)? (?:charged|billed)\b(?! (?:again|twice|more|extra|until|unless|if)\b)|\bno (?:charges?|credits?) (?:was|were|has been|have been|will be) (?:made|applied|charged|deducted|used|consumed)\b|\b(?:credits?|charges?) (?:was|were|has been|have been|will be) refunded\b/i;

/** Whether a status can be about the account's rate limit, quota or credit. */
function isAboutLimits({ status }: Facts): boolean {
  return status === 403 || status === 429;
}

function isShortLimit({ waitMs, text }: Facts): boolean {
  return (waitMs !== null && waitMs <= MAX_BUSY_MS) || LIMIT_PER_MINUTE.test(text);
}

function hasNoCreditCode({ codes }: ErrorBody): boolean {
  return codes.some((code) => NO_CREDIT_CODE.test(code));
}

function isAboutMoney(errorBody: ErrorBody): boolean {
  const { codes, words } = errorBody;
  if (isModeration(errorBody) || codes.some((code) => RATE_LIMIT_CODE.test(code))) return false;
  return [words ?? "", ...codes].some((text) => ABOUT_MONEY.test(text.replace(/[_-]/g, " ")));
}

const NO_CREDIT_LEFT: Failure = { kind: "account", key: "my_credits.no_credits_description" };
const NO_ACCESS: Failure = { kind: "account", key: "login_required" };
const INVALID: Failure = { kind: "invalid" };

const CASES: Readonly<Record<Case, readonly [Failure, (host: string, words: string) => string]>> = {
  credit: [
    NO_CREDIT_LEFT,
    (host, words) =>
      `The account at ${host} has no credit left, or has reached a limit (${words}). Add credit or raise the limit there.`,
  ],
  key: [NO_ACCESS, (host, words) => `${host} does not accept the key (${words}).`],
  account: [NO_ACCESS, (host, words) => `${host} does not allow this account to make images (${words}).`],
  missing: [
    INVALID,
    (host, words) =>
      `${host} does not have this address or model (${words}). Check the address and the model of the generator.`,
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

export interface ErrorBody {
  isJson: boolean;
  /** The server's message in one line, without a final full stop. */
  words: string | null;
  /** All codes and types in the body, as text. */
  codes: readonly string[];
  /** Code in the innermost error object, or null. */
  code: string | null;
  /** Name of the invalid field of the request, or null. */
  field: string | null;
}

const MAX_WORDS_LENGTH = 500;

/** Reads OpenAI's error object, a `detail` (text or list), a code with a message, HTML, plain text or an empty body. */
export function readErrorBody(body: string): ErrorBody {
  const json = parseLenientJson(body.replace(/^\uFEFF/, ""));
  if (json === null)
    return { isJson: false, words: toMessageClause(bodyText(body)), codes: [], code: null, field: null };
  // Google sends a list with one error.
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
    words: toMessageClause(findMessage(json)),
    codes: codes.filter(isCode).map(String),
    code: code === undefined ? null : String(code),
    field: typeof field === "string" ? field : null,
  };
}

/** Names of fields that can contain an error message, the most precise first. */
const ERROR_FIELDS = ["message", "detail", "errors", "error", "msg", "title", "output"] as const;

/** Maximum depth of the search, because a reply might nest thousands of levels. */
const MAX_LEVELS = 8;

function findMessage(value: unknown, levels = MAX_LEVELS): string {
  if (typeof value === "string") return value;
  if (levels === 0) return "";
  const extractInner = (inner: unknown) => findMessage(inner, levels - 1);
  if (Array.isArray(value)) return value.map(extractInner).filter(Boolean).join("; ");
  if (!isJsonObject(value)) return "";
  const message =
    ERROR_FIELDS.map((name) => extractInner(value[name])).find((text) => text.trim() !== "") ?? "";
  // FastAPI's `loc` is the path of the invalid field, for example `["body", "size"]`.
  return Array.isArray(value.loc) ? `${value.loc.join(".")}: ${message}` : message;
}

function bodyText(body: string): string {
  if (!/^\s*</.test(body)) return body;
  const title = /<title[^>]*>([^<]*)/i.exec(body)?.[1]?.trim();
  return title ? `a page with the title “${title}”` : "a page without a title";
}

function toMessageClause(text: string): string | null {
  return truncate(collapseWhitespace(text).replace(/\.$/, ""), MAX_WORDS_LENGTH) || null;
}
