import { AuthRequiredError, refusedPoll } from "../../api/api-errors.ts";
import { HttpClient, type HttpClientOptions, wholeReply } from "../../api/http-client.ts";
import { isRetryable } from "../../api/retry.ts";
import { keyMasker } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { collapseWhitespace, truncate } from "../../lib/short-text.ts";
import { action, phrase, type Wording } from "../../lib/wording.ts";
import { taskUrl } from "./http-service.ts";
import { type Envelope, HTML_PAGE, isPage, parseEnvelope } from "./replies.ts";

/** The id of a task that does not exist. A check of the API key polls it. */
const NO_SUCH_TASK = "imggen-key-check";

export interface Probe {
  options?: HttpClientOptions;
  baseUrl: string;
  /** null sends no key, which the service refuses. */
  apiKey: string | null;
  timeoutMs: number;
  signal: AbortSignal;
}

export interface ProbeReply {
  status: number;
  envelope: Envelope;
  /** Summary for messages: `HTTP 404, an HTML page`. */
  summary: string;
  /** Whether the reply is in OpenAI's style, which many image generators use. */
  isOpenAiStyle: boolean;
  /** The service's clock in milliseconds since the epoch, to the second; null if the Date header is missing. */
  dateMs: number | null;
  elapsedMs: number;
}

/**
 * Polls a task that does not exist. The poll is free because only a submit is charged (section 1); a missing or
 * invalid key is refused with `login_required` (section 5). @throws TransportError without a complete reply
 */
export async function probe({ options, baseUrl, apiKey, timeoutMs, signal }: Probe): Promise<ProbeReply> {
  const http = new HttpClient(options);
  const start = performance.now();
  try {
    const { status, headers, body, cut } = await wholeReply(http, {
      method: "GET",
      url: taskUrl(baseUrl, NO_SUCH_TASK),
      headers: apiKey === null ? {} : { authorization: `Bearer ${apiKey}` },
      timeoutMs,
      signal,
    });
    const text = keyMasker(apiKey ?? "")(body);
    const envelope = parseEnvelope(text);
    if (cut && envelope.kind === "invalid") throw cut;
    const dateMs = Date.parse(String(headers.date));
    return {
      status,
      envelope,
      summary: `HTTP ${status}, ${described(text)}`,
      isOpenAiStyle: baseUrl.endsWith("/v1") || /^\s*{\s*"error"\s*:\s*{/.test(text),
      dateMs: Number.isNaN(dateMs) ? null : dateMs,
      elapsedMs: performance.now() - start,
    };
  } finally {
    await http.close();
  }
}

const MAX_TEXT_LENGTH = 80;

/** A short description of a body, or its beginning. */
function described(body: string): string {
  const text = collapseWhitespace(body);
  if (text === "") return "an empty reply";
  if (isPage(text)) return HTML_PAGE;
  return truncate(text, MAX_TEXT_LENGTH);
}

/**
 * Judges the API key. Only the service's error for a task that does not exist means that the key was accepted,
 * because other servers reply differently. `busy`: temporary, try again.
 */
export function judgeProbe({ status, envelope }: ProbeReply): "accepted" | "refused" | "busy" | "foreign" {
  if (isRetryable(status)) return "busy";
  if (envelope.kind !== "error") return "foreign";
  return refusedPoll(envelope.key, status) instanceof AuthRequiredError ? "refused" : "accepted";
}

/** The base URL without the suffix `/api`, which only the service has. */
function generatorAddress({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/(?:api)?\/?$/, "")}`;
}

/** The message for a server that is not the service, and a hint for the next step. */
export function describeForeign(
  { summary, isOpenAiStyle }: ProbeReply,
  url: URL,
): { message: string; hint: Wording } {
  const message = `${url.href} is not the service's API (${summary}).`;
  if (isOpenAiStyle) {
    const login = `login --generator ${shellWord(generatorAddress(url))}`;
    const hint = phrase`That is an address in OpenAI's style. To use it as your own generator: ${action("run", login)}`;
    return { message, hint };
  }
  return { message, hint: "Is the base URL right? It includes the service's /api." };
}
