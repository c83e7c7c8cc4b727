import type { ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { OpenAiError } from "./openai-error.ts";

/** Which of the two operations: its events have its name. */
export type ImagesOperation = "image_generation" | "image_edit";

/** The images of a task in OpenAI's form, and what is said about all of them. */
export interface ImagesResult {
  created: number;
  data: ({ b64_json: string } | { url: string })[];
  size?: string;
  output_format?: string;
  usage?: object;
}

/** The text of a reply: one JSON document, or server-sent events. */
interface Form {
  mediaType: string;
  /** Text that keeps the connection alive, and that the client ignores. */
  sign: string;
  text(result: ImagesResult | Pick<OpenAiError, "error">): string;
}

const JSON_FORM: Form = { mediaType: "application/json", sign: " \n", text: JSON.stringify };

function eventForm(operation: ImagesOperation): Form {
  const event = (type: string, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  return {
    mediaType: "text/event-stream",
    sign: ": keep-alive\n\n",
    text(result) {
      if ("error" in result) return event("error", result);
      const { created, data, ...facts } = result;
      const events = data.map((image) => ({ ...image, created_at: created, ...facts }));
      return events.map((each) => event(`${operation}.completed`, each)).join("");
    },
  };
}

/** How often something is sent, in milliseconds, so that no proxy takes the connection for an idle one. */
const ALIVE_MS = 10_000;

interface ReplyOptions {
  taskId: string;
  /** The operation whose events the reply consists of, which begin at once; null: it is one JSON document. */
  events: ImagesOperation | null;
  clock: Pick<Clock, "sleep">;
}

/**
 * Sends a reply that takes as long as its image, and keeps the connection alive until then.
 * @param work returns null once the client has hung up @returns the HTTP status that was sent, and the line for the log
 */
export async function sendLongReply(
  outgoing: ServerResponse,
  { taskId, events, clock }: ReplyOptions,
  work: () => Promise<ImagesResult | OpenAiError | null>,
): Promise<{ status: number; note: string }> {
  const form = events === null ? JSON_FORM : eventForm(events);
  const begin = (status: number, headers: Record<string, string> = {}) => {
    const always = { "Content-Type": form.mediaType, "Cache-Control": "no-store", "X-Request-Id": taskId };
    if (!outgoing.headersSent) outgoing.writeHead(status, { ...always, ...headers });
  };
  if (events !== null) {
    begin(200);
    outgoing.flushHeaders();
  }
  const over = new AbortController();
  const keepAlive = async () => {
    for (;;) {
      await clock.sleep(ALIVE_MS, over.signal);
      begin(200);
      outgoing.write(form.sign);
    }
  };
  void keepAlive().catch(() => {});
  const result = await work().finally(() => over.abort());
  if (result === null) return { status: 0, note: `${taskId}, the client hung up` };
  if (!(result instanceof OpenAiError)) {
    begin(200);
    outgoing.end(form.text(result));
    return { status: outgoing.statusCode, note: `${taskId} completed` };
  }
  const { status, error } = result;
  begin(status, { "x-should-retry": "false" });
  outgoing.end(form.text({ error }));
  return { status: outgoing.statusCode, note: `${taskId} ${error.code ?? error.message}` };
}
