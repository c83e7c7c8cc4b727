import { isPresent } from "../lib/durable.ts";
import { fieldsOf } from "../lib/json.ts";
import { joinFirst } from "../lib/short-text.ts";
import { action, phrase } from "../lib/wording.ts";
import { namesModel, readErrorBody, replyWithoutImage } from "./failed-reply.ts";
import { type ReplyImage, resultImages } from "./found-images.ts";
import { type Fields, JobPoll, keyRefusal } from "./job-poll.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import { jsonBody } from "./post-body.ts";
import {
  type Job,
  type MadeImage,
  type PollReply,
  type Provider,
  ProviderError,
  type SubmitHow,
  type SubmitReply,
} from "./provider.ts";
import type { OwnUrl, ProviderServer } from "./provider-http.ts";
import { type ReferenceDeps, shownContext } from "./reference-files.ts";
import { imageWarnings, readUsage } from "./reply-facts.ts";
import { parseLenientJson, parseReplyJson, parseTruncatedFields } from "./reply-json.ts";
import { parseReportedSeeds, readPngSeed, requestedSeed } from "./seeds.ts";
import {
  isSuccess,
  readReplyFile,
  readStoredReply,
  replyFile,
  resultFile,
  runRequestWithReply,
  type StoredReply,
} from "./stored-reply.ts";

/** A POST below the service's base. */
export interface ServiceRequest {
  path: string;
  body: unknown;
}

/** The context in which a request is made: reference images, and the callback for warnings. */
export type JobContext = ReferenceDeps & Pick<SubmitHow, "onWarning">;

/** The content of a whole reply of success. */
export type ReadReply =
  /**
   * The id of a job: with it alone the job is polled, so where its address does not follow from its id, it is its
   * address.
   */
  | { id: string }
  /** `usage`: cost and tokens, as the service has them. `seeds`: of the images, as it has them. */
  | { images: readonly ReplyImage[]; usage?: unknown; seeds?: unknown }
  /** No image. The text may hold the service's words. */
  | { none: string }
  /** No id that a job could be asked for by. */
  | "unnamed";

/** The list of a service's models. */
interface ModelList {
  /** Below its base. */
  path: string;
  namesIn: (json: unknown) => string[] | null;
}

/** How one service is asked for images, and how it answers. An absent member is a feature that it does not have. */
export interface Form {
  supports: Provider["supports"];
  /** As of `Provider`. */
  isSizedByReference?: true;
  /** As `Provider.check`. */
  check: NonNullable<Provider["check"]>;
  /** @throws ProviderError where the service does not support a part of the job */
  request(job: Job, context: JobContext): Promise<ServiceRequest>;
  /** Sends a job's request. Default: the result of `request`, once. @throws ProviderError */
  send?(job: Job, how: SubmitHow, context: JobContext): Promise<StoredReply>;
  /** Reads a reply of success; null: it ends before its image or its id. */
  read(reply: StoredReply, job: Job): ReadReply | null;
  /** Polls a job. Never throws. */
  poll?(id: string, poll: JobPoll): Promise<PollReply>;
  /** The URLs of the images in the reply about a finished job, `data:` URLs among them. */
  resultIn?(fields: Fields): string[];
  /** Seeds in the reply about a finished job, with all their digits. */
  seedsIn?(fields: Fields): unknown;
  /** The address that cancels a job; null where it is not known. */
  cancelAt?(id: string, signal: AbortSignal): Promise<{ method: "POST" | "PUT"; url: OwnUrl } | null>;
  models?: ModelList;
  /** A POST to this path below the base ends the service's work on an image. */
  stopPath?: string;
}

/**
 * A service over HTTP. Each reply to a submit is on the disk before it is read, so that a process that ends meanwhile has
 * lost nothing, and the next one can read it.
 */
export function serviceProvider(
  { url, options }: ServerSetup,
  server: ProviderServer,
  form: Form,
  deps: ProviderDeps,
): Provider {
  const { models, stopPath, poll, resultIn = () => [], seedsIn, cancelAt } = form;
  const generatorUrl = new URL(url);
  const send =
    form.send ??
    (async (job, how, context) => {
      const { path, body } = await form.request(job, context);
      const hasId = (reply: StoredReply) => isAccepted(form.read(reply, job));
      return server.post(path, jsonBody(body, options.fieldNames.seed), job, how, hasId);
    });
  return {
    version: 1,
    limits: { concurrency: options.concurrency, submitMs: options.timeoutMs },
    supports: form.supports,
    ...(form.isSizedByReference && { isSizedByReference: true }),
    check: form.check,
    getSeed: (job) => requestedSeed(job, options.fieldNames.seed),
    async describe(job) {
      const { path, body } = await form.request(job, shownContext(deps, generatorUrl));
      return server.describe(path, body);
    },
    async submit(job, how) {
      const { signal, onWarning } = how;
      const work = async (onSent: () => void) => {
        const reply = await send(job, { ...how, onSent }, { ...deps, generatorUrl, signal, onWarning });
        try {
          return toOutcome(reply, job, server, form, onWarning);
        } catch (error) {
          throw models ? await withModels(error, reply, server, models, signal) : error;
        }
      };
      const reply = await runRequestWithReply(job, server, work, how.onSent);
      if (reply.outcome !== "unknown" || poll) return reply;
      // A free server that can be told so ends its work where the request is given up.
      const canStop = signal.aborted && !job.isPaid && stopPath !== undefined;
      const stopped = canStop ? await server.cancel("POST", stopPath) : null;
      return { ...reply, isStopped: stopped !== null && isSuccess(stopped) };
    },
    recover: (job) =>
      runRequestWithReply(job, server, async (hasSent) => {
        hasSent();
        const stored = await readStoredReply(job);
        const isCut = stored === null || (isSuccess(stored) && form.read(stored, job) === null);
        return isCut ? null : toOutcome(stored, job, server, form);
      }),
    images: async (job) => (await imagesInResult(job, server, resultIn)) ?? imagesInReply(job, server, form),
    ...(poll && { poll: (id, how) => poll(id, new JobPoll(server, how, { resultIn, seedsIn })) }),
    ...(cancelAt && {
      async cancel(id, signal) {
        const at = await cancelAt(id, signal).catch(() => null);
        const reply = at ? await server.cancel(at.method, at.url, signal) : null;
        const refusal = reply && keyRefusal(reply, server);
        if (refusal) throw refusal;
        return reply && isSuccess(reply);
      },
    }),
    ...(models && {
      async models(signal) {
        const reply = await server.get(models.path, signal);
        if (reply.status === 404 || reply.status === 405) return null;
        if (!isSuccess(reply)) throw server.failure(reply, false);
        return models.namesIn(parseLenientJson(reply.body));
      },
    }),
    close: () => server.close(),
  };
}

/** The outcome of a job's submit, by its reply. @throws ProviderError */
function toOutcome(
  reply: StoredReply,
  job: Job,
  server: ProviderServer,
  form: Form,
  onWarning?: (message: string) => void,
): SubmitReply {
  if (!isSuccess(reply)) throw server.failure(reply, job.isPaid);
  const read = form.read(reply, job);
  if (read === null)
    throw server.lost(reply.cut ?? `it ended before ${form.poll ? "the job's id" : "the image did"}`);
  if (read === "unnamed") {
    const message = `${server.host} took the request, and its reply names no job that can be asked for.`;
    throw new ProviderError(message, { kind: "lost" });
  }
  if (isAccepted(read)) return { outcome: "accepted", taskId: read.id };
  if ("none" in read) throw replyWithoutImage(read.none, server.replySource(job.isPaid));
  for (const warning of imageWarnings(parseReplyJson(reply), server.host)) onWarning?.(warning);
  const seeds = parseReportedSeeds(read.seeds);
  return { outcome: "made", usage: readUsage(read.usage, server.mask), ...(seeds && { seeds }) };
}

function isAccepted(read: ReadReply | null): read is { id: string } {
  return read !== null && read !== "unnamed" && "id" in read;
}

/** The images of a finished job, from its result; null if none is kept. @throws ProviderError where it has no image */
async function imagesInResult(
  job: Job,
  server: ProviderServer,
  resultIn: NonNullable<Form["resultIn"]>,
): Promise<MadeImage[] | null> {
  const result = await readReplyFile(resultFile(job));
  if (result === null) return null;
  const text = result.body.toString("utf8");
  const fields = fieldsOf(parseLenientJson(text));
  const images = resultImages(resultIn(fields), fields, job);
  if (images.length === 0) throw replyWithoutImage(text, server.replySource(job.isPaid));
  return images.map((image) =>
    "url" in image ? { kind: "url", url: image.url } : { kind: "bytes", bytes: image.bytes },
  );
}

/** The images of a reply that is kept. @throws ProviderError (lost) for one that is cut, Error where it has none */
async function imagesInReply(job: Job, server: ProviderServer, form: Form): Promise<MadeImage[]> {
  const file = replyFile(job);
  const stored = await readReplyFile(file);
  const read = stored && form.read(stored, job);
  // A full disk has not taken its end.
  if (read === null && isPresent(file)) throw server.lost(stored?.cut ?? "its end is not on the disk");
  if (read === null || read === "unnamed" || !("images" in read))
    throw new Error("there is no image in the reply that was kept");
  return read.images.map((image) =>
    "url" in image ? server.imageAt(image.url) : { kind: "bytes", bytes: image.bytes },
  );
}

const MAX_NAME_LENGTH = 100;

/** The error for a reply; of a refusal that may be about the model, with the models that there are. Never throws. */
async function withModels(
  error: unknown,
  reply: StoredReply,
  server: ProviderServer,
  { path, namesIn }: ModelList,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof ProviderError) || error.failure.kind !== "invalid") return error;
  const { details } = error;
  const isOfModel = namesModel(readErrorBody(String(reply.body)));
  if (reply.status !== 404 && !isOfModel) return error;
  const list = await server.get(path, signal).catch(() => null);
  if (reply.status === 404 && list?.status === 404 && !isOfModel) {
    const message = `There is no such API at ${server.address} (HTTP 404). Check the address of the generator.`;
    const hint = phrase`Nothing was charged. To find the servers on this machine: ${action("run", "setup")}`;
    return new ProviderError(message, error.failure, { cause: error, hint, details });
  }
  const names = list && isSuccess(list) ? namesIn(parseLenientJson(list.body)) : null;
  if (names === null || names.length === 0) return error;
  const modelNames = joinFirst(names.map((name) => name.slice(0, MAX_NAME_LENGTH)));
  const hint = `Nothing was charged. Its models: ${server.mask(modelNames)}`;
  return new ProviderError(error.message, error.failure, { cause: error, hint, details });
}

/**
 * The job in a reply. A paid job is not lost with the end of its reply, if the id has arrived.
 * @param idIn reads the id from the fields, which of a reply that is cut are those that arrived whole
 */
export function jobIn(
  reply: StoredReply,
  idIn: (fields: Fields, isCut: boolean) => string | null,
): ReadReply | null {
  const json = parseReplyJson(reply);
  const isCut = json === undefined;
  const id = idIn(isCut ? parseTruncatedFields(reply.body.toString("utf8")) : fieldsOf(json), isCut);
  if (id !== null) return { id };
  return isCut ? null : "unnamed";
}

/** @param text may hold the service's words, if there is no image @param seeds default: those that stand in the images */
export function imagesOrNone(
  images: readonly ReplyImage[],
  usage: unknown,
  text: string,
  seeds: unknown = images.map((image) => ("bytes" in image ? readPngSeed(image.bytes) : null)),
): ReadReply {
  return images.length > 0 ? { images, usage, seeds } : { none: text };
}

/** The check of a service's names of models. @param like the end of a sentence about them */
export function modelNamed(pattern: RegExp, like: string): Form["check"] {
  return ({ options: { model } }) => (model !== null && pattern.test(model) ? null : `A model of ${like}.`);
}

/** An id as services make them. */
export function isJobId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id);
}
