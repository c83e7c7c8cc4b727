import type { HttpReply } from "../../api/http-client.ts";
import { fieldsOf, isJsonObject, isTexts } from "../../lib/json.ts";
import { jsonBody, type PostBody } from "../post-body.ts";
import { ProviderError } from "../provider.ts";
import type { ProviderServer } from "../provider-http.ts";
import { isSuccess } from "../reply-file.ts";
import { lenientJson } from "../reply-json.ts";
import { entryIn, type HistoryEntry, type ServerImage } from "./outputs.ts";

/** Where a job is at the server. */
export type Whereabouts =
  /** `ahead`: how many jobs run or wait before it. */
  | { place: "waiting"; ahead: number; graph: unknown }
  | { place: "running"; graph: unknown }
  | { place: "ended"; entry: HistoryEntry };

/** A queue holds the workflows of all its jobs; a list of files can be long too. */
const MOST_BYTES = 64 * 1024 * 1024;

/** ComfyUI's routes, but for the one that takes a job. Nothing here costs money. */
export class ComfyServer {
  readonly #server: ProviderServer;

  constructor(server: ProviderServer) {
    this.#server = server;
  }

  get host(): string {
    return this.#server.host;
  }

  get address(): string {
    return this.#server.address;
  }

  /** Where a job is; null where the server does not know it. @throws ProviderError, or the signal's reason */
  async find(jobId: string, signal: AbortSignal): Promise<Whereabouts | null> {
    // It goes from the queue into the history in one step: who asks in this order cannot miss it.
    const queued = await this.#queued(jobId, signal);
    if (queued !== null) return queued;
    const entry = await this.ended(jobId, signal);
    return entry && { place: "ended", entry };
  }

  /** A job that has ended; null for any other. @throws as `find` */
  async ended(jobId: string, signal: AbortSignal): Promise<HistoryEntry | null> {
    const history = await this.#json(`/history/${encodeURIComponent(jobId)}`, signal);
    if (!isJsonObject(history)) throw this.#unreadable();
    if (!Object.hasOwn(history, jobId)) return null;
    const entry = entryIn(history[jobId]);
    if (entry === null) throw this.#unreadable();
    return entry;
  }

  async #queued(jobId: string, signal: AbortSignal): Promise<Whereabouts | null> {
    const { queue_running, queue_pending } = fieldsOf(await this.#json("/queue", signal));
    // A reply that is no queue, such as a proxy's own, does not say that the job is not in it.
    if (!Array.isArray(queue_running) || !Array.isArray(queue_pending)) throw this.#unreadable();
    const [running, pending] = [rowsIn(queue_running), rowsIn(queue_pending)];
    const current = running.find((row) => row.id === jobId);
    if (current !== undefined) return { place: "running", graph: current.graph };
    const waiting = pending.find((row) => row.id === jobId);
    if (waiting === undefined) return null;
    const before = pending.filter(({ number }) => number < waiting.number);
    return { place: "waiting", ahead: running.length + before.length, graph: waiting.graph };
  }

  /** What it says of a class of nodes. @throws as `find` */
  objectInfo(name: string, signal: AbortSignal): Promise<unknown> {
    return this.#json(`/object_info/${encodeURIComponent(name)}`, signal);
  }

  /** The names of its checkpoints; null where it does not list them. @throws as `find` */
  async checkpoints(signal: AbortSignal): Promise<string[] | null> {
    const names = await this.#json("/models/checkpoints", signal);
    return isTexts(names) ? names : null;
  }

  /** Uploads an image. @returns how a node names it @throws as `find` */
  async upload(body: PostBody, signal: AbortSignal): Promise<string> {
    const reply = this.#checked(await this.#server.tell("/upload/image", body, signal));
    const { name, subfolder } = fieldsOf(lenientJson(reply.body));
    if (typeof name !== "string") throw this.#unreadable();
    return typeof subfolder === "string" && subfolder !== "" ? `${subfolder}/${name}` : name;
  }

  /** Takes a job out of the queue, if it waits there. @throws as `find` */
  async unqueue(jobId: string, signal: AbortSignal): Promise<void> {
    this.#checked(await this.#server.tell("/queue", jsonBody({ delete: [jobId] }), signal));
  }

  /** Ends a job, if it is the one that runs: at the end of the node that it is at. @throws as `find` */
  async interrupt(jobId: string, signal: AbortSignal): Promise<void> {
    this.#checked(await this.#server.tell("/interrupt", jsonBody({ prompt_id: jobId }), signal));
  }

  /** Where an image is downloaded from. */
  urlOf({ filename, subfolder, type }: ServerImage): string {
    return this.#server.urlBelow(`/view?${new URLSearchParams({ filename, subfolder, type })}`);
  }

  async #json(from: string, signal: AbortSignal): Promise<unknown> {
    const reply = this.#checked(await this.#server.get(from, signal, undefined, MOST_BYTES));
    const json = lenientJson(reply.body);
    if (json === null) throw this.#unreadable();
    return json;
  }

  /** @throws ProviderError unless it is a success */
  #checked(reply: HttpReply): HttpReply {
    if (isSuccess(reply)) return reply;
    const error = this.#server.failure(reply, false);
    // What fails here was not the request for an image.
    throw error.failure.kind === "lost" ? new ProviderError(error.message, { kind: "unsent" }) : error;
  }

  #unreadable(): ProviderError {
    const hint = "Nothing was sent or charged. Is there a ComfyUI server at this address?";
    return new ProviderError(`${this.host} does not answer as ComfyUI does.`, { kind: "unsent" }, { hint });
  }
}

interface QueueRow {
  number: number;
  id: unknown;
  graph: unknown;
}

function rowsIn(rows: readonly unknown[]): QueueRow[] {
  return rows.filter(Array.isArray).map(([number, id, graph]) => ({ number: Number(number), id, graph }));
}
