import { AuthRequiredError, refusedPoll } from "../../api/api-errors.ts";
import { HttpClient, type HttpClientOptions, wholeReply } from "../../api/http-client.ts";
import { isRetryable } from "../../api/retry.ts";
import { keyMasker } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { collapseWhitespace, truncate } from "../../lib/short-text.ts";
import { action, phrase, type Wording } from "../../lib/wording.ts";
import { taskUrl } from "./http-service.ts";
import { type Envelope, HTML_PAGE, isPage, parseEnvelope } from "./replies.ts";

/** Id of no task: a check of the key polls it. */
const NO_SUCH_TASK = "imggen-key-check";

export interface Probe {
  /** Connection to the service. */
  options?: HttpClientOptions;
  baseUrl: string;
  /** null asks without one, which the service refuses. */
  apiKey: string | null;
  timeoutMs: number;
  signal: AbortSignal;
}

/** A service's reply to a probe. */
export interface ProbeReply {
  status: number;
  envelope: Envelope;
  /** The reply for people: `HTTP 404, an HTML page`. */
  summary: string;
  /** Whether it came from an API in OpenAI's style, as many image generators have. */
  isOpenAiStyle: boolean;
  /** The service's clock in milliseconds since the epoch, to the second; null if it does not tell. */
  dateMs: number | null;
  elapsedMs: number;
}

/**
 * Polls a task that does not exist. That costs nothing: only a submit is charged (section 1), and a key that is missing
 * or invalid is answered with `login_required` (section 5).
 * @throws TransportError without a whole reply
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

/** A body in a few words, or its own beginning. */
function described(body: string): string {
  const text = collapseWhitespace(body);
  if (text === "") return "an empty reply";
  if (isPage(text)) return HTML_PAGE;
  return truncate(text, MAX_TEXT_LENGTH);
}

/**
 * What a reply says of the key. Only the service's own error for a task that does not exist means that it took the key:
 * any other server answers in a way of its own. `busy`: it may answer otherwise in a moment.
 */
export function judgeProbe({ status, envelope }: ProbeReply): "accepted" | "refused" | "busy" | "foreign" {
  if (isRetryable(status)) return "busy";
  if (envelope.kind !== "error") return "foreign";
  return refusedPoll(envelope.key, status) instanceof AuthRequiredError ? "refused" : "accepted";
}

/** A base URL without what only the service's own has. */
function generatorAddress({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/(?:api)?\/?$/, "")}`;
}

/** What is wrong where another server than the service has answered, and a question that leads on. */
export function describeForeign(
  { summary, isOpenAiStyle }: ProbeReply,
  url: URL,
): { message: string; hint: Wording } {
  const message = `${url.href} answers, but not as the service does (${summary}).`;
  if (isOpenAiStyle) {
    const login = `login --generator ${shellWord(generatorAddress(url))}`;
    const hint = phrase`That is an address in OpenAI's style. To use it as your own generator: ${action("run", login)}`;
    return { message, hint };
  }
  return { message, hint: "Is the base URL right? It includes the service's /api." };
}
