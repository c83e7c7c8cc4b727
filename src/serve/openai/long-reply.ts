import type { ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { OpenAiError } from "./openai-error.ts";

/** One of the two operations. Its events begin with its name. */
export type ImagesOperation = "image_generation" | "image_edit";

/** The images of a task in OpenAI's form, and facts about all of them. */
export interface ImagesResult {
  created: number;
  data: ({ b64_json: string } | { url: string })[];
  size?: string;
  output_format?: string;
  usage?: object;
  /** Sentences about fields of the request that have no effect, and about how the images differ from it. */
  warnings?: string[];
}

/** The text of a reply: one JSON document, or server-sent events. */
interface Form {
  mediaType: string;
  /** Text that keeps the connection alive, and that the client ignores. */
  sign: string;
  /** Event of the progress of the images; absent: the form has none. */
  progress?: (share: number) => string;
  text(result: ImagesResult | Pick<OpenAiError, "error">): string;
}

const JSON_FORM: Form = { mediaType: "application/json", sign: " \n", text: JSON.stringify };

function eventForm(operation: ImagesOperation): Form {
  const event = (type: string, data: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`;
  return {
    mediaType: "text/event-stream",
    sign: ": keep-alive\n\n",
    progress: (share) => event("imggen.progress", { share }),
    text(result) {
      if ("error" in result) return event("error", result);
      const { created, data, ...facts } = result;
      const events = data.map((image) => ({ ...image, created_at: created, ...facts }));
      return events.map((each) => event(`${operation}.completed`, each)).join("");
    },
  };
}

/** Interval between comments in a stream, in milliseconds, so that no proxy takes the connection for an idle one. */
const COMMENT_MS = 15_000;

interface ReplyOptions {
  taskId: string;
  /** The operation whose events the reply consists of; null: it is one JSON document. */
  events: ImagesOperation | null;
  /** Interval between white space before a JSON document, in milliseconds; null: none. */
  keepAliveMs: number | null;
  clock: Pick<Clock, "sleep">;
}

/**
 * Sends a reply that takes as long as its image. Its status is true, unless something had to be sent before.
 * @param work gets a callback for the progress of the images; returns null once the client has hung up @returns the HTTP status that was sent, and the line for the log
 */
export async function sendLongReply(
  outgoing: ServerResponse,
  { taskId, events, keepAliveMs, clock }: ReplyOptions,
  work: (onShare: (share: number) => void) => Promise<ImagesResult | OpenAiError | null>,
): Promise<{ status: number; note: string }> {
  const form = events === null ? JSON_FORM : eventForm(events);
  const begin = (status: number, { mediaType }: Form, headers: Record<string, string> = {}) => {
    const always = { "Content-Type": mediaType, "Cache-Control": "no-store", "X-Request-Id": taskId };
    if (!outgoing.headersSent) outgoing.writeHead(status, { ...always, ...headers });
  };
  const write = (text: string) => {
    begin(200, form);
    outgoing.write(text);
  };
  let sentShare = 0;
  const onShare = (exact: number) => {
    // A stream has at most 100 of them.
    const share = Math.floor(100 * exact) / 100;
    if (form.progress === undefined || share <= sentShare) return;
    sentShare = share;
    write(form.progress(share));
  };
  // However long it takes: only the client decides that it is too long.
  outgoing.setTimeout(0);
  const everyMs = events === null ? keepAliveMs : COMMENT_MS;
  const over = new AbortController();
  const keepAlive = async () => {
    while (everyMs !== null) {
      await clock.sleep(everyMs, over.signal);
      write(form.sign);
    }
  };
  void keepAlive().catch(() => {});
  const result = await work(onShare).finally(() => over.abort());
  if (result === null) return { status: 0, note: `${taskId}, the client hung up` };
  if (!(result instanceof OpenAiError)) {
    begin(200, form);
    outgoing.end(form.text(result));
    return { status: outgoing.statusCode, note: `${taskId} completed` };
  }
  const { status, error } = result;
  // With a status of its own an error is no stream.
  const errorForm = outgoing.headersSent ? form : JSON_FORM;
  begin(status, errorForm, { "x-should-retry": "false" });
  outgoing.end(errorForm.text({ error }));
  return { status: outgoing.statusCode, note: `${taskId} ${error.code ?? error.message}` };
}
