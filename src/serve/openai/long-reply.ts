import type { ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { OpenAiError } from "./openai-error.ts";

export type ImagesOperation = "image_generation" | "image_edit";

export interface ImagesResult {
  created: number;
  data: ({ b64_json: string } | { url: string })[];
  size?: string;
  output_format?: string;
  usage?: object;
  warnings?: string[];
}

interface ReplyFormat {
  mediaType: string;
  keepAlive: string;
  progress?: (share: number) => string;
  text(result: ImagesResult | Pick<OpenAiError, "error">): string;
}

const JSON_FORMAT: ReplyFormat = { mediaType: "application/json", keepAlive: " \n", text: JSON.stringify };

function eventFormat(operation: ImagesOperation): ReplyFormat {
  const event = (type: string, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  return {
    mediaType: "text/event-stream",
    keepAlive: ": keep-alive\n\n",
    progress: (share) => event("imggen.progress", { share }),
    text(result) {
      if ("error" in result) return event("error", result);
      const { created, data, ...facts } = result;
      const events = data.map((image) => ({ ...image, created_at: created, ...facts }));
      return events.map((data) => event(`${operation}.completed`, data)).join("");
    },
  };
}

/** Interval between comments in an event stream, in milliseconds, because proxies close idle connections. */
const COMMENT_MS = 15_000;

interface ReplyOptions {
  taskId: string;
  /** Operation for the names of events if the reply is an event stream; null for a JSON reply. */
  events: ImagesOperation | null;
  /** Interval between spaces before a JSON reply, in milliseconds; null: no spaces. */
  keepAliveMs: number | null;
  clock: Pick<Clock, "sleep">;
}

/**
 * Sends the reply for an image that is not completed yet.
 * Once text was sent, even an error has the HTTP status 200, because the status is sent before the text.
 * @param work waits for the result and reports progress to `onShare`; returns null if the client has disconnected
 * @returns the HTTP status, and the line for the log
 */
export async function sendLongReply(
  outgoing: ServerResponse,
  { taskId, events, keepAliveMs, clock }: ReplyOptions,
  work: (onShare: (share: number) => void) => Promise<ImagesResult | OpenAiError | null>,
): Promise<{ status: number; note: string }> {
  const format = events === null ? JSON_FORMAT : eventFormat(events);
  const begin = (status: number, { mediaType }: ReplyFormat, headers: Record<string, string> = {}) => {
    const commonHeaders = { "Content-Type": mediaType, "Cache-Control": "no-store", "X-Request-Id": taskId };
    if (!outgoing.headersSent) outgoing.writeHead(status, { ...commonHeaders, ...headers });
  };
  const write = (text: string) => {
    begin(200, format);
    outgoing.write(text);
  };
  let sentShare = 0;
  const onShare = (exactShare: number) => {
    const share = Math.floor(100 * exactShare) / 100;
    if (format.progress === undefined || share <= sentShare) return;
    sentShare = share;
    write(format.progress(share));
  };
  // The connection has no timeout, because only the client limits the wait.
  outgoing.setTimeout(0);
  const intervalMs = events === null ? keepAliveMs : COMMENT_MS;
  const finished = new AbortController();
  const keepAlive = async () => {
    while (intervalMs !== null) {
      await clock.sleep(intervalMs, finished.signal);
      write(format.keepAlive);
    }
  };
  void keepAlive().catch(() => {});
  const result = await work(onShare).finally(() => finished.abort());
  if (result === null) return { status: 0, note: `${taskId}, the client disconnected` };
  if (!(result instanceof OpenAiError)) {
    begin(200, format);
    outgoing.end(format.text(result));
    return { status: outgoing.statusCode, note: `${taskId} completed` };
  }
  const { status, error } = result;
  // If no text was sent before, the error has an HTTP status and is sent as JSON, not as an event.
  const errorFormat = outgoing.headersSent ? format : JSON_FORMAT;
  begin(status, errorFormat, { "x-should-retry": "false" });
  outgoing.end(errorFormat.text({ error }));
  return { status: outgoing.statusCode, note: `${taskId} ${error.code ?? error.message}` };
}
