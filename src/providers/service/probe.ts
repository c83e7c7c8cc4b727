import { AuthRequiredError, refusedPoll } from "../../api/api-errors.ts";
import { fetchReply, HttpClient, type HttpClientOptions } from "../../api/http-client.ts";
import { isRetryable } from "../../api/retry.ts";
import { keyMasker } from "../../lib/redact.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { collapseWhitespace, truncate } from "../../lib/short-text.ts";
import { action, phrase, type Wording } from "../../lib/wording.ts";
import { taskUrl } from "./http-service.ts";
import { type Envelope, HTML_PAGE, isPage, parseEnvelope } from "./replies.ts";

/** Id of a task that does not exist, polled to check the API key. */
const NO_SUCH_TASK = "imggen-key-check";

export interface Probe {
  options?: HttpClientOptions;
  baseUrl: string;
  /** The key to check, or null to send no key. */
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
  /** Milliseconds since the epoch from the Date header, with a precision of one second; null without the header. */
  dateMs: number | null;
  elapsedMs: number;
}

/**
 * Polls a task that does not exist, which is free because the service charges only submits (section 1).
 * The service refuses a missing or invalid key with `login_required` (section 5).
 * @throws TransportError if the reply is incomplete
 */
export async function probe({ options, baseUrl, apiKey, timeoutMs, signal }: Probe): Promise<ProbeReply> {
  const http = new HttpClient(options);
  const start = performance.now();
  try {
    const { status, headers, body, cut } = await fetchReply(http, {
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
      summary: `HTTP ${status}, ${describeBody(text)}`,
      isOpenAiStyle: baseUrl.endsWith("/v1") || /^\s*{\s*"error"\s*:\s*{/.test(text),
      dateMs: Number.isNaN(dateMs) ? null : dateMs,
      elapsedMs: performance.now() - start,
    };
  } finally {
    await http.close();
  }
}

const MAX_TEXT_LENGTH = 80;

function describeBody(body: string): string {
  const text = collapseWhitespace(body);
  if (text === "") return "an empty reply";
  if (isPage(text)) return HTML_PAGE;
  return truncate(text, MAX_TEXT_LENGTH);
}

/** Only an error about the key means `refused`. Any other error of the service means `accepted`. */
export function judgeProbe({
  status,
  envelope,
}: ProbeReply): "accepted" | "refused" | "busy" | "other server" {
  if (isRetryable(status)) return "busy";
  if (envelope.kind !== "error") return "other server";
  return refusedPoll(envelope.key, status) instanceof AuthRequiredError ? "refused" : "accepted";
}

/** Returns a generator's base URL: the suffix `/api` is removed, because only the service's URL has this suffix. */
function generatorAddress({ origin, pathname }: URL): string {
  return `${origin}${pathname.replace(/\/(?:api)?\/?$/, "")}`;
}

export function describeOtherServer(
  { summary, isOpenAiStyle }: ProbeReply,
  url: URL,
): { message: string; hint: Wording } {
  const message = `${url.href} is not the service's API (${summary}).`;
  if (isOpenAiStyle) {
    const login = `login --generator ${shellWord(generatorAddress(url))}`;
    const hint = phrase`This is an address in OpenAI's style. To use it as your own generator: ${action("run", login)}`;
    return { message, hint };
  }
  return { message, hint: "Is the base URL right? It must include the service's /api." };
}
