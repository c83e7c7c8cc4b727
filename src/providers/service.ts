import { isPresent } from "../lib/durable.ts";
import { fieldsOf } from "../lib/json.ts";
import { joinFirst } from "../lib/short-text.ts";
import { action, phrase } from "../lib/wording.ts";
import { isAboutModel, readErrorBody, replyWithoutImage } from "./failed-reply.ts";
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
  type SubmitOptions,
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

export interface ServiceRequest {
  path: string;
  body: unknown;
}

export type JobContext = ReferenceDeps & Pick<SubmitOptions, "onWarning">;

/** Content of a complete, successful reply. */
export type ReadReply =
  /** Id with which the job is polled: the job's URL if this URL cannot be derived from the service's id. */
  | { id: string }
  /** `usage`, `seeds`: unparsed values from the service's reply. */
  | { images: readonly ReplyImage[]; usage?: unknown; seeds?: unknown }
  /** `none`: text of a reply without an image, which might contain the service's message. */
  | { none: string }
  /** A reply without an image and without an id to poll. */
  | "unnamed";

interface ModelList {
  /** Path below the service's base URL. */
  path: string;
  namesIn: (json: unknown) => string[] | null;
}

/** Adapter for requests and replies of one service. A member is absent if the service lacks the feature. */
export interface Form {
  supports: Provider["supports"];
  isSizedByReference?: true;
  check: NonNullable<Provider["check"]>;
  /** @throws ProviderError if the service does not support a part of the job */
  request(job: Job, context: JobContext): Promise<ServiceRequest>;
  /** Sends a job's request. Default: sends the result of `request` once. @throws ProviderError */
  send?(job: Job, submitOptions: SubmitOptions, context: JobContext): Promise<StoredReply>;
  /** Reads a successful reply. Returns null if the reply ends before its image or id. */
  read(reply: StoredReply, job: Job): ReadReply | null;
  /** Polls a job. Never throws. */
  poll?(id: string, poll: JobPoll): Promise<PollReply>;
  /** Returns the image URLs, including `data:` URLs, from the reply about a finished job. */
  resultIn?(fields: Fields): string[];
  /** Returns the seeds from the reply about a finished job, with all digits, because rounding would change a seed. */
  seedsIn?(fields: Fields): unknown;
  /** Returns the request that cancels a job, or null if the URL for this request is unknown. */
  cancelAt?(id: string, signal: AbortSignal): Promise<{ method: "POST" | "PUT"; url: OwnUrl } | null>;
  models?: ModelList;
  /** Path below the base URL. A POST to this path stops the work on an image. */
  stopPath?: string;
}

/** Stores each reply to a submit before it is read, so that another process can read it if this process ends. */
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
    (async (job, submitOptions, context) => {
      const { path, body } = await form.request(job, context);
      const hasId = (reply: StoredReply) => isAccepted(form.read(reply, job));
      return server.post(path, jsonBody(body, options.fieldNames.seed), job, submitOptions, hasId);
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
    async submit(job, submitOptions) {
      const { signal, onWarning } = submitOptions;
      const work = async (onSent: () => void) => {
        const reply = await send(
          job,
          { ...submitOptions, onSent },
          { ...deps, generatorUrl, signal, onWarning },
        );
        try {
          return toOutcome(reply, job, server, form, onWarning);
        } catch (error) {
          throw models ? await withModels(error, reply, server, models, signal) : error;
        }
      };
      const reply = await runRequestWithReply(job, server, work, submitOptions.onSent);
      if (reply.outcome !== "unknown" || poll) return reply;
      // The work on a paid image is not stopped, because the image might be charged nevertheless.
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
    ...(poll && {
      poll: (id, pollOptions) => poll(id, new JobPoll(server, pollOptions, { resultIn, seedsIn })),
    }),
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
    throw server.lost(reply.cut ?? `the reply ended before ${form.poll ? "the job's id" : "the image"}`);
  if (read === "unnamed") {
    const message = `${server.host} accepted the request, but its reply has no job id to poll.`;
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

/** Returns null if no result is stored. @throws ProviderError if the result has no image */
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

/** @throws ProviderError (lost) if the reply is incomplete, Error if the reply has no image */
async function imagesInReply(job: Job, server: ProviderServer, form: Form): Promise<MadeImage[]> {
  const file = replyFile(job);
  const stored = await readReplyFile(file);
  const read = stored && form.read(stored, job);
  // If the disk was full, only a part of the reply is in the file.
  if (read === null && isPresent(file))
    throw server.lost(stored?.cut ?? "the end of the reply was not stored on disk");
  if (read === null || read === "unnamed" || !("images" in read))
    throw new Error("the stored reply has no image");
  return read.images.map((image) =>
    "url" in image ? server.imageAt(image.url) : { kind: "bytes", bytes: image.bytes },
  );
}

const MAX_NAME_LENGTH = 100;

/** Adds the names of the service's models to an error about an unknown model. Never throws. */
async function withModels(
  error: unknown,
  reply: StoredReply,
  server: ProviderServer,
  { path, namesIn }: ModelList,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof ProviderError) || error.failure.kind !== "invalid") return error;
  const { details } = error;
  const concernsModel = isAboutModel(readErrorBody(String(reply.body)));
  if (reply.status !== 404 && !concernsModel) return error;
  const list = await server.get(path, signal).catch(() => null);
  if (reply.status === 404 && list?.status === 404 && !concernsModel) {
    const message = `There is no image API at ${server.address} (HTTP 404). Check the address of the generator.`;
    const hint = phrase`Nothing was charged. To find the servers on this machine: ${action("run", "setup")}`;
    return new ProviderError(message, error.failure, { cause: error, hint, details });
  }
  const names = list && isSuccess(list) ? namesIn(parseLenientJson(list.body)) : null;
  if (names === null || names.length === 0) return error;
  const modelNames = joinFirst(names.map((name) => name.slice(0, MAX_NAME_LENGTH)));
  const hint = `Nothing was charged. Available models: ${server.mask(modelNames)}`;
  return new ProviderError(error.message, error.failure, { cause: error, hint, details });
}

/** Reads the job's id, even if the reply was cut off after the id, because the job might be paid for. */
export function jobIn(
  reply: StoredReply,
  readId: (fields: Fields, isCut: boolean) => string | null,
): ReadReply | null {
  const json = parseReplyJson(reply);
  const isCut = json === undefined;
  const id = readId(isCut ? parseTruncatedFields(reply.body.toString("utf8")) : fieldsOf(json), isCut);
  if (id !== null) return { id };
  return isCut ? null : "unnamed";
}

/** @param seeds default: the seeds in the image files */
export function imagesOrNone(
  images: readonly ReplyImage[],
  usage: unknown,
  text: string,
  seeds: unknown = images.map((image) => ("bytes" in image ? readPngSeed(image.bytes) : null)),
): ReadReply {
  return images.length > 0 ? { images, usage, seeds } : { none: text };
}

/** Creates a check that a model's name matches the pattern. @param problem message for other names */
export function modelNamed(pattern: RegExp, problem: string): Form["check"] {
  return ({ options: { model } }) => (model !== null && pattern.test(model) ? null : problem);
}

export function isJobId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id);
}
