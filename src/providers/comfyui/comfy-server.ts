import type { HttpReply } from "../../api/http-client.ts";
import type { Clock } from "../../lib/clock.ts";
import { fieldsOf, isJsonObject, isTexts } from "../../lib/json.ts";
import { jsonBody, type PostBody } from "../post-body.ts";
import { type Job, ProviderError, type SubmitOptions } from "../provider.ts";
import type { ProviderServer } from "../provider-http.ts";
import { parseLenientJson } from "../reply-json.ts";
import { isSuccess, type StoredReply } from "../stored-reply.ts";
import { type Graph, graphIn } from "./graph.ts";

export type ServerJob =
  /** `ahead`: number of running and waiting jobs before this job. */
  | { state: "waiting"; ahead: number; graph: unknown }
  | { state: "running"; graph: unknown }
  | { state: "ended"; entry: HistoryEntry };

export interface HistoryEntry {
  outputs: Readonly<Record<string, unknown>>;
  status: Readonly<Record<string, unknown>>;
  /** The submitted workflow; empty if the entry contains no valid workflow. */
  graph: Graph;
}

/** Maximum size of a reply, in bytes. It is large because the queue contains the workflows of all jobs. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Time after which a job that is missing from every reply counts as gone, in milliseconds. */
const MISSING_MS = 30_000;
const CANCEL_MS = 15_000;
/** An attempt fails if the job starts while imggen removes it. */
const CANCEL_TRIES = 4;

/** Requests to a ComfyUI server. Only `post` can cost money. */
export class ComfyServer {
  readonly http: ProviderServer;
  readonly #clock: Pick<Clock, "monotonicMs">;
  /** Time when a job was first missing. The job can still appear, because a proxy might still forward the submit. */
  readonly #missingSince = new Map<string, number>();
  /** Ids of the jobs that `cancel` removed from the queue. */
  readonly #removed = new Set<string>();

  constructor(http: ProviderServer, clock: Pick<Clock, "monotonicMs">) {
    this.http = http;
    this.#clock = clock;
  }

  /** @throws as `ProviderServer.post` */
  post(id: string, graph: Graph, job: Job, submitOptions: SubmitOptions): Promise<StoredReply> {
    this.#missingSince.delete(id);
    const body = { prompt: Object.fromEntries(graph), prompt_id: id, client_id: id };
    return this.http.post("/prompt", jsonBody(body), job, submitOptions);
  }

  /** @param historyFirst avoids the large queue for a finished job @throws ProviderError, or the signal's reason */
  async find(jobId: string, signal: AbortSignal, historyFirst = false): Promise<ServerJob | null> {
    try {
      const finishedJob = historyFirst ? await this.#findInHistory(jobId, signal) : null;
      // The history is read after the queue, because a job that ends between the two requests moves to the history.
      const job =
        finishedJob ?? (await this.#findInQueue(jobId, signal)) ?? (await this.#findInHistory(jobId, signal));
      if (job !== null) this.#missingSince.delete(jobId);
      else if (!this.#missingSince.has(jobId)) this.#missingSince.set(jobId, this.#clock.monotonicMs());
      return job;
    } catch (error) {
      this.#missingSince.clear();
      throw error;
    }
  }

  isGone(jobId: string): boolean {
    const since = this.#missingSince.get(jobId);
    return since !== undefined && this.#clock.monotonicMs() - since >= MISSING_MS;
  }

  isRemoved(jobId: string): boolean {
    return this.#removed.has(jobId);
  }

  async #findInHistory(jobId: string, signal: AbortSignal): Promise<ServerJob | null> {
    const history = await this.#json(`/history/${encodeURIComponent(jobId)}`, signal);
    if (!isJsonObject(history)) throw this.#unreadable();
    if (!Object.hasOwn(history, jobId)) return null;
    const value = history[jobId];
    if (!isJsonObject(value)) throw this.#unreadable();
    const graph = graphIn(Array.isArray(value.prompt) ? value.prompt[2] : undefined);
    const entry = { outputs: fieldsOf(value.outputs), status: fieldsOf(value.status) };
    return { state: "ended", entry: { ...entry, graph: typeof graph === "string" ? new Map() : graph } };
  }

  async #findInQueue(jobId: string, signal: AbortSignal): Promise<ServerJob | null> {
    const { queue_running, queue_pending } = fieldsOf(await this.#json("/queue", signal));
    // A reply without a queue, such as a proxy's error page, does not prove that the job is missing.
    if (!Array.isArray(queue_running) || !Array.isArray(queue_pending)) throw this.#unreadable();
    const [running, pending] = [queue_running, queue_pending].map((rows) => rows.filter(Array.isArray));
    const current = running?.find(([, id]) => id === jobId);
    if (current !== undefined) return { state: "running", graph: current[2] };
    const waiting = pending?.find(([, id]) => id === jobId);
    if (waiting === undefined) return null;
    const before = pending?.filter(([number]) => Number(number) < Number(waiting[0])) ?? [];
    return { state: "waiting", ahead: (running?.length ?? 0) + before.length, graph: waiting[2] };
  }

  /** Never throws. @returns whether the job ends without an image; null if the server does not reply */
  async cancel(jobId: string, signal: AbortSignal): Promise<boolean | null> {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(CANCEL_MS)]);
    const tell = async (at: string, body: object) =>
      this.#checked(await this.http.postFree(at, jsonBody(body), limited));
    try {
      for (let tries = 0; tries < CANCEL_TRIES; tries++) {
        const job = await this.find(jobId, limited);
        if (job?.state === "waiting") {
          await tell("/queue", { delete: [jobId] });
          continue;
        }
        if (job?.state === "running") await tell("/interrupt", { prompt_id: jobId });
        if (job !== null) return job.state === "running";
        if (tries > 0) this.#removed.add(jobId);
        return tries > 0;
      }
      return false;
    } catch (error) {
      if (error instanceof ProviderError || limited.aborted) return null;
      throw error;
    }
  }

  /** @throws as `find` */
  objectInfo(name: string, signal: AbortSignal): Promise<unknown> {
    return this.#json(`/object_info/${encodeURIComponent(name)}`, signal);
  }

  /** @returns null if the server has no list @throws as `find` */
  async checkpoints(signal: AbortSignal): Promise<string[] | null> {
    const names = await this.#json("/models/checkpoints", signal);
    return isTexts(names) ? names : null;
  }

  /** Uploads an image. @returns the image's name for nodes @throws as `find` */
  async upload(body: PostBody, signal: AbortSignal): Promise<string> {
    const reply = this.#checked(await this.http.postFree("/upload/image", body, signal));
    const { name, subfolder } = fieldsOf(parseLenientJson(reply.body));
    if (typeof name !== "string") throw this.#unreadable();
    return typeof subfolder === "string" && subfolder !== "" ? `${subfolder}/${name}` : name;
  }

  async #json(from: string, signal: AbortSignal): Promise<unknown> {
    const reply = this.#checked(await this.http.get(from, signal, undefined, MAX_BYTES));
    const json = parseLenientJson(reply.body);
    if (json === null) throw this.#unreadable();
    return json;
  }

  #checked(reply: HttpReply): HttpReply {
    if (isSuccess(reply)) return reply;
    const error = this.http.failure(reply, false);
    // A lost reply counts as an unsent request, because only `post` can cost money.
    throw error.failure.kind === "lost" ? new ProviderError(error.message, { kind: "unsent" }) : error;
  }

  #unreadable(): ProviderError {
    const hint = "Nothing was sent or charged. Is there a ComfyUI server at this address?";
    return new ProviderError(
      `${this.http.host} did not reply like a ComfyUI server.`,
      { kind: "unsent" },
      { hint },
    );
  }
}
