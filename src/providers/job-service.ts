import { fieldsOf } from "../lib/json.ts";
import { base64Image } from "./answer.ts";
import { closedFields } from "./cut-json.ts";
import type { ProviderDeps } from "./deps.ts";
import { failedReply, replyWithoutImage } from "./failed-reply.ts";
import { settled } from "./failures.ts";
import type { OwnUrl, ProviderServer } from "./http.ts";
import { keptReply } from "./kept-reply.ts";
import { isInline, keptResult } from "./kept-result.ts";
import type { ServerSetup } from "./kind.ts";
import { type Fields, type Look, Polls } from "./polls.ts";
import { jsonBody } from "./post-body.ts";
import { type Job, type PollReply, type Provider, ProviderError, type SubmitHow } from "./provider.ts";
import { type ReferenceDeps, shownContext } from "./reference-files.ts";
import { isSuccess, jsonIn, readReplyFile, replyFile, type StoredReply } from "./reply-file.ts";
import { RunningJobs } from "./running-jobs.ts";

/** A request for a job's image, sent as JSON. */
export interface ServiceRequest {
  /** A path below the service's base. */
  path: string;
  body: unknown;
}

/** What a request is made from. */
export type JobContext = ReferenceDeps & Pick<SubmitHow, "onWarning">;

/** How one service takes jobs, and says how they are. */
export interface JobForm {
  /** What it has no place for, as a sentence; null for nothing. */
  check: NonNullable<Provider["check"]>;
  /** @throws ProviderError where it has no place for what is asked */
  request(job: Job, context: JobContext): Promise<ServiceRequest>;
  /**
   * The id to record, from the reply to a submit: with it alone the job is polled, so where its address does not follow
   * from its id, it is its address. Null where there is none that may be used.
   */
  idIn(said: Fields): string | null;
  /** As `idIn`, from the fields that are certain of a reply that was cut. Absent: it needs a whole one. */
  idInCut?(said: Fields): string | null;
  poll(id: string, look: Look, polls: Polls): Promise<PollReply>;
  /** How many jobs it lets run at once. Absent: any number. */
  mostRunning?: number;
  /** The names of its models. Absent: the service has no list. */
  models?(): Promise<string[] | null>;
  /** Where a job is cancelled; null where that is not known. Absent: the service has no such thing. */
  cancelAt?(id: string, signal: AbortSignal): Promise<{ method: "POST" | "PUT"; url: OwnUrl } | null>;
}

/** A service that takes a request as a job, and gives it an id. */
export function jobService(
  { url, options }: ServerSetup,
  server: ProviderServer,
  form: JobForm,
  deps: ProviderDeps,
): Provider {
  const { concurrency, timeoutMs } = options;
  const polls = new Polls(server, deps.clock);
  const accepted = (reply: StoredReply, job: Job) => {
    const nowMs = deps.clock.now();
    const { host, mask } = server;
    if (!isSuccess(reply)) throw failedReply(reply, { host, mask, isPaid: job.isPaid, nowMs });
    return { outcome: "accepted", taskId: idOf(reply, form, server) } as const;
  };
  const running = new RunningJobs(form.mostRunning ?? Number.POSITIVE_INFINITY, deps.clock);
  const poll = async (taskId: string, limitMs: number | undefined, signal: AbortSignal) => {
    const reply = await form.poll(taskId, polls.look(taskId, limitMs, signal), polls);
    if (reply.outcome === "state" && reply.task.status !== "running") running.ended(taskId);
    return reply;
  };
  return {
    version: 1,
    limits: { concurrency, submitMs: timeoutMs },
    check: form.check,
    async submit(job, { signal, onSent, onWarning }) {
      const context = { ...deps, generatorUrl: new URL(url), signal, onWarning };
      const reply = await settled(async (sent) => {
        const { path, body } = await form.request(job, context);
        const send = () => server.post(path, jsonBody(body), job, { signal, onSent: sent });
        const isRunning = async (id: string) => {
          const seen = await poll(id, undefined, signal);
          return seen.outcome === "retry" || (seen.outcome === "state" && seen.task.status === "running");
        };
        return running.begin(async () => accepted(await send(), job), isRunning, signal);
      }, onSent);
      return reply.outcome === "unknown" ? { ...reply, ...(await keptReply(job, server.mask)) } : reply;
    },
    async describe(job) {
      const { path, body } = await form.request(job, shownContext(deps, new URL(url)));
      return server.shown(path, body);
    },
    async recover(job) {
      const reply = await settled(async (hasSent) => {
        hasSent();
        const stored = await readReplyFile(replyFile(job));
        if (stored === null) return null;
        const isCut = isSuccess(stored) && jsonIn(stored) === undefined;
        return isCut && idInCut(stored, form) === null ? null : accepted(stored, job);
      });
      return reply?.outcome === "unknown" ? { ...reply, ...(await keptReply(job, server.mask)) } : reply;
    },
    async images({ folder, isPaid }) {
      const { urls, said } = await keptResult({ folder });
      const { host, mask } = server;
      if (urls.length === 0) throw replyWithoutImage(said, { host, mask, isPaid });
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
    models: async () => (await form.models?.()) ?? null,
    close: () => server.close(),
  };
}

/** @throws ProviderError (lost) where a success names no job that can be asked for */
function idOf(reply: StoredReply, form: JobForm, server: ProviderServer): string {
  const json = jsonIn(reply);
  const id = json === undefined ? idInCut(reply, form) : form.idIn(fieldsOf(json));
  if (id !== null) return id;
  if (json === undefined) throw server.lost(reply.cut ?? "it ended before the job's id");
  const message = `${server.host} took the request, and its reply names no job that can be asked for.`;
  throw new ProviderError(message, { kind: "lost" });
}

/** What was paid for is not lost with the end of the reply to its request, where that has named the job by then. */
function idInCut({ body }: StoredReply, form: JobForm): string | null {
  return form.idInCut?.(closedFields(body.toString("utf8"))) ?? null;
}

/** An id as services make them. */
export function isJobId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id);
}

/** The http(s) and `data:` URLs in a value: a URL, an object that has one as `url`, or a list of either. */
export function urlsIn(value: unknown): string[] {
  const each = [value].flat().map((one) => (typeof one === "string" ? one : fieldsOf(one).url));
  return each.filter((url) => typeof url === "string").filter((url) => /^(?:https?:\/\/|data:)/i.test(url));
}

/** What a service says in a field, as a text. */
export function wordsOf(said: unknown): string | null {
  if (typeof said === "string") return said.trim().replace(/\.$/, "") || null;
  return said === undefined || said === null ? null : JSON.stringify(said).slice(0, 500);
}
