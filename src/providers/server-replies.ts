import type { Clock } from "../lib/clock.ts";
import type { ReadAnswer } from "./answer.ts";
import { type Asked, failedReply, namesModel, readErrorBody, replyWithoutImage } from "./failed-reply.ts";
import { settled } from "./failures.ts";
import type { ProviderServer } from "./http.ts";
import { keptReply } from "./kept-reply.ts";
import { lenientJson } from "./lenient-json.ts";
import { type Job, type MadeImage, ProviderError, type SubmitHow, type SubmitReply } from "./provider.ts";
import { isSuccess, readReplyFile, replyFile, type StoredReply } from "./reply-file.ts";
import { usageIn } from "./usage.ts";

/** How one kind of server answers. */
export interface ReplyForm {
  readAnswer: ReadAnswer;
  /** Where its models are listed, below the base, and how the list is read. Absent: it has none. */
  models?: { path: string; namesIn: (json: unknown) => string[] | null };
  /** A POST to this path below the base ends its work on an image. Absent: nothing does. */
  stopPath?: string;
}

/** What a server's replies say of jobs: what each is worth, and the images in them. */
export class ServerReplies {
  readonly #server: ProviderServer;
  readonly #form: ReplyForm;
  readonly #clock: Pick<Clock, "now">;

  constructor(server: ProviderServer, form: ReplyForm, clock: Pick<Clock, "now">) {
    this.#server = server;
    this.#form = form;
    this.#clock = clock;
  }

  /**
   * Sends a job's request, and reads what came of it. A free server that can be told so ends its work where the request
   * is given up. Never throws. @param send sends the request; it may throw ProviderError
   */
  async submit(
    job: Job,
    how: SubmitHow,
    send: (how: SubmitHow) => Promise<StoredReply>,
  ): Promise<SubmitReply> {
    const reply = await settled(async (onSent) => {
      const stored = await send({ ...how, onSent });
      try {
        return this.#made(stored, job);
      } catch (error) {
        throw await this.#withModels(error, stored, how.signal);
      }
    }, how.onSent);
    if (reply.outcome !== "unknown") return reply;
    const { stopPath } = this.#form;
    const canStop = how.signal.aborted && !job.isPaid && stopPath !== undefined;
    const isStopped = canStop && (await this.#server.stop(stopPath));
    return { ...reply, ...(await keptReply(job, this.#server.mask)), isStopped };
  }

  /** What came of a request whose process ended; null where no whole reply has arrived. Never throws. */
  async recover(job: Job): Promise<SubmitReply | null> {
    const reply = await settled(async (hasSent) => {
      hasSent();
      const stored = await readReplyFile(replyFile(job));
      const isCut = stored !== null && isSuccess(stored) && this.#form.readAnswer(stored).kind === "cut";
      return stored === null || isCut ? null : this.#made(stored, job);
    });
    return reply?.outcome === "unknown" ? { ...reply, ...(await keptReply(job, this.#server.mask)) } : reply;
  }

  /** The images of a job, or their addresses, as the reply says it. @throws Error where there are none */
  async images(job: Job): Promise<MadeImage[]> {
    const file = replyFile(job);
    const stored = await readReplyFile(file);
    const answer = stored && this.#form.readAnswer(stored);
    if (answer?.kind !== "images") throw new Error("there is no image in the reply that was kept");
    return answer.images.map((image) =>
      "url" in image ? this.#server.imageAt(image.url) : { kind: "bytes", bytes: image.bytes },
    );
  }

  /** The names of its models; null where it has no list. @throws ProviderError, or the signal's reason */
  async models(signal: AbortSignal): Promise<string[] | null> {
    const { models } = this.#form;
    if (models === undefined) return null;
    const reply = await this.#server.get(models.path, signal);
    if (reply.status === 404 || reply.status === 405) return null;
    if (!isSuccess(reply)) throw failedReply(reply, this.#asked(false));
    return models.namesIn(lenientJson(reply.body));
  }

  /** @throws ProviderError unless the reply has an image */
  #made(reply: StoredReply, job: Job): SubmitReply {
    if (!isSuccess(reply)) throw failedReply(reply, this.#asked(job.isPaid));
    const answer = this.#form.readAnswer(reply);
    if (answer.kind === "cut") throw this.#server.lost(reply.cut ?? "it ended before the image did");
    if (answer.kind === "none") throw replyWithoutImage(answer.body, this.#asked(job.isPaid));
    return { outcome: "made", usage: usageIn(answer.usage, this.#server.mask) };
  }

  /** The error for a reply; of a refusal that may be about the model, with the models that there are. */
  async #withModels(error: unknown, reply: StoredReply, signal: AbortSignal): Promise<unknown> {
    const { models } = this.#form;
    if (!(error instanceof ProviderError) || error.failure.kind !== "invalid" || !models) return error;
    const isOfModel = namesModel(readErrorBody(String(reply.body)));
    if (reply.status !== 404 && !isOfModel) return error;
    const list = await this.#server.get(models.path, signal).catch(() => null);
    if (reply.status === 404 && list?.status === 404 && !isOfModel) {
      const message = `There is no such API at ${this.#server.address} (HTTP 404). Check --generator.`;
      return new ProviderError(message, error.failure, { cause: error });
    }
    const names = list && isSuccess(list) ? models.namesIn(lenientJson(list.body)) : null;
    if (names === null || names.length === 0) return error;
    const hint = `Nothing was charged. Its models: ${this.#server.mask(listed(names))}`;
    return new ProviderError(error.message, error.failure, { cause: error, hint });
  }

  #asked(isPaid: boolean): Asked {
    const { host, mask } = this.#server;
    return { host, mask, isPaid, nowMs: this.#clock.now() };
  }
}

const MOST_NAMED = 12;
const LONGEST_NAME = 100;

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).map((name) => name.slice(0, LONGEST_NAME));
  return shown.join(", ") + (names.length > MOST_NAMED ? ", …" : "");
}
