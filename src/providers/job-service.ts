import { fieldsOf } from "../lib/json.ts";
import { base64Image } from "./answer.ts";
import { closedFields } from "./cut-json.ts";
import { replyWithoutImage } from "./failed-reply.ts";
import { urlsInJob } from "./found-images.ts";
import type { AnswerReader } from "./image-service.ts";
import { settledWithReply } from "./kept-reply.ts";
import { isInline, keptResult } from "./kept-result.ts";
import type { ServerSetup } from "./kind.ts";
import { type Fields, type GetState, Polls } from "./polls.ts";
import { jsonBody } from "./post-body.ts";
import { type Job, type PollReply, type Provider, ProviderError, type SubmitReply } from "./provider.ts";
import type { ProviderDeps } from "./provider-deps.ts";
import type { OwnUrl, ProviderServer } from "./provider-http.ts";
import { isSuccess, jsonIn, type StoredReply } from "./reply-file.ts";
import { type RequestForm, serverProvider } from "./server-provider.ts";

/** How one service accepts jobs, and reports on them. */
export interface JobForm extends RequestForm {
  /**
   * The id to record, from the reply to a submit: with it alone the job is polled, so where its address does not follow
   * from its id, it is its address. Null where there is none that may be used.
   */
  idIn(said: Fields, job: Job, json: unknown): string | null;
  /** As `idIn`, from the whole fields of a reply that was cut. Absent: it needs a whole reply. */
  idInCut?(said: Fields, job: Job): string | null;
  /** Reads a whole reply without an id, which may be the image itself. Absent: each reply has an id. */
  answer?: AnswerReader;
  poll(id: string, getState: GetState, polls: Polls): Promise<PollReply>;
  /** Where a job is cancelled; null where that is not known. Absent: the service has no such thing. */
  cancelAt?(id: string, signal: AbortSignal): Promise<{ method: "POST" | "PUT"; url: OwnUrl } | null>;
}

/** A service that takes a request as a job, and gives it an id. */
export function jobService(
  setup: ServerSetup,
  server: ProviderServer,
  form: JobForm,
  deps: ProviderDeps,
): Provider {
  /** The URLs of the requests that this process has sent, by the ids of their jobs. */
  const sentUrls = new Map<string, ReadonlySet<string>>();
  const read = (reply: StoredReply, job: Job): SubmitReply => {
    if (!isSuccess(reply)) throw server.failure(reply, job.isPaid);
    const taskId = idIn(reply, job, form);
    if (taskId !== null) return { outcome: "accepted", taskId };
    if (form.answer === undefined) throw withoutId(reply, server);
    return form.answer.read(reply, job);
  };
  const isCut = (reply: StoredReply, job: Job) =>
    jsonIn(reply) === undefined && idInCut(reply, job, form) === null;
  const poll = async (taskId: string, limitMs: number | undefined, signal: AbortSignal) => {
    const polls = new Polls(server, sentUrls.get(taskId));
    return form.poll(taskId, polls.stateGetter(limitMs, signal), polls);
  };
  return {
    ...serverProvider(setup, server, form, { isCut, read }, deps),
    submit(job, { signal, onSent, onWarning, onUnstored }) {
      const context = { ...deps, generatorUrl: new URL(setup.url), signal, onWarning };
      const sent = async (onSent: () => void) => {
        const { path, body } = await form.request(job, context);
        const sent = jsonBody(body, setup.options.fieldNames.seed);
        const how = { signal, onSent, onUnstored };
        const hasId = (reply: StoredReply) => idIn(reply, job, form) !== null;
        const reply = read(await server.post(path, sent, job, how, hasId), job);
        if (reply.outcome !== "accepted") return reply;
        sentUrls.set(reply.taskId, urlsInJob(job));
        return reply;
      };
      return settledWithReply(job, server.mask, sent, onSent);
    },
    async images(job) {
      const { answer } = form;
      const kept = await keptResult(job);
      // Its reply was the image itself: no poll had a result.
      if (kept === null && answer) return answer.images(job);
      if (kept === null) throw new Error("the result that was kept is gone");
      const { said } = kept;
      const sent = urlsInJob(job);
      const urls = kept.urls.filter((url) => !sent.has(url));
      if (urls.length === 0) throw replyWithoutImage(said, server.asked(job.isPaid));
      return urls.map((url) => {
        const bytes = isInline(url) ? base64Image(url) : null;
        return bytes === null ? { kind: "url", url } : { kind: "bytes", bytes };
      });
    },
    poll,
    ...(form.cancelAt && {
      async cancel(taskId: string, signal: AbortSignal) {
        const at = await form.cancelAt?.(taskId, signal).catch(() => null);
        return at ? server.cancel(at.method, at.url, signal) : null;
      },
    }),
  };
}

/** The id in a reply of success; null for none. */
function idIn(reply: StoredReply, job: Job, form: JobForm): string | null {
  const json = jsonIn(reply);
  return json === undefined ? idInCut(reply, job, form) : form.idIn(fieldsOf(json), job, json);
}

/** The error for a success that names no job that can be asked for. */
function withoutId(reply: StoredReply, server: ProviderServer): ProviderError {
  if (jsonIn(reply) === undefined) return server.lost(reply.cut ?? "it ended before the job's id");
  const message = `${server.host} took the request, and its reply names no job that can be asked for.`;
  return new ProviderError(message, { kind: "lost" });
}

/** A paid job is not lost with the end of its reply, if the id has arrived. */
function idInCut({ body }: StoredReply, job: Job, form: JobForm): string | null {
  return form.idInCut?.(closedFields(body.toString("utf8")), job) ?? null;
}

/** An id as services make them. */
export function isJobId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id);
}

/** A field of a reply as a text. */
export function wordsOf(said: unknown): string | null {
  if (typeof said === "string") return said.trim().replace(/\.$/, "") || null;
  return said === undefined || said === null ? null : JSON.stringify(said).slice(0, 500);
}
