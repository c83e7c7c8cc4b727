import type { Clock } from "../../lib/clock.ts";
import { formatDuration } from "../../lib/duration.ts";
import { errorText } from "../../lib/error-text.ts";
import { isJsonObject } from "../../lib/json.ts";
import { hasControlCharacter } from "../../lib/late-regex.ts";
import { describeChoices } from "../../lib/short-text.ts";
import { requestedSize } from "../../models/requested-size.ts";
import { failedPoll, toClause } from "../failures.ts";
import { decodeImages, findImageUrls, isDataUrl, type ReplyImage } from "../found-images.ts";
import { fieldText, type JobPoll } from "../job-poll.ts";
import type { ProviderDeps, ServerSetup } from "../kind.ts";
import * as core from "../provider.ts";
import { ProviderServer } from "../provider-http.ts";
import { referenceUrls } from "../reference-files.ts";
import { parseLenientJson, parseReplyJson } from "../reply-json.ts";
import {
  type Form,
  imagesOrNone,
  type JobContext,
  type ReadReply as Read,
  type ServiceRequest,
  serviceProvider,
} from "../service.ts";
import { isSuccess, type StoredReply } from "../stored-reply.ts";
import type { Fetch, Job, JobState, Provider, ProviderPackage, ReadImage, ReadReply } from "./interface.ts";

export function packageProvider(
  setup: ServerSetup,
  definition: ProviderPackage,
  deps: ProviderDeps,
): core.Provider {
  const { key, model, isPaid } = setup.options;
  const { url } = setup;
  const { otherHosts } = definition;
  const server = new ProviderServer({ ...setup, ...(otherHosts !== undefined && { otherHosts }) }, deps);
  const options = { model, isPaid };
  const provider = definition.create({ url, key, options, fetch: fetchFrom(server) });
  const form: Form = {
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
    check: (job) => findProblem(job, definition, provider),
    request: (job, context) => buildRequest(job, provider, context),
    read: (reply) => readReply(reply, provider),
    ...(provider.poll && {
      poll: (id, poll) => pollPackage(id, provider, poll, server),
      resultIn: ({ urls }) => findImageUrls([urls].flat().map((url) => resolveImageUrl(url, server))),
    }),
    ...(provider.poll &&
      provider.cancel && {
        async cancelAt(id) {
          const cancelRequest = provider.cancel?.(id);
          const url = cancelRequest ? server.ownUrl(server.urlBelow(cancelRequest.path)) : null;
          return cancelRequest && url ? { method: cancelRequest.method, url } : null;
        },
      }),
  };
  const service = serviceProvider(setup, server, form, deps);
  const { poll } = service;
  return {
    ...service,
    ...(poll && {
      poll: (id, pollOptions) => limitPoll(poll(id, pollOptions), pollOptions, deps),
    }),
    models: (signal) => listModels(provider, server, signal, deps),
  };
}

type CheckedJob = Parameters<NonNullable<core.Provider["check"]>>[0];

function findProblem(
  job: CheckedJob,
  { title, settings, fieldNames }: ProviderPackage,
  provider: Provider,
): string | null {
  const names = settings && [...settings, ...Object.values(fieldNames ?? {})];
  const unsupportedName = Object.keys(job.options.fields).find((name) => names && !names.includes(name));
  if (unsupportedName !== undefined)
    return `${title} has no setting ${unsupportedName}. ${describeChoices(names ?? [])}.`;
  const urls = job.references.map((reference) => ("url" in reference ? reference.url : "data:"));
  try {
    const problem: unknown = provider.check?.(packageJob({ ...job, taskId: "" }, urls));
    return typeof problem === "string" ? problem : null;
  } catch (error) {
    return `The package cannot check the request: ${toClause(errorText(error))}.`;
  }
}

const MAX_ID_LENGTH = 2000;

function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.length <= MAX_ID_LENGTH && !hasControlCharacter(id);
}

/** @throws ProviderError (invalid) if the package cannot build a request; the signal's reason if the signal aborts */
async function buildRequest(job: core.Job, provider: Provider, context: JobContext): Promise<ServiceRequest> {
  const urls = referenceUrls(job.references, context);
  const images = urls.map((url) => (typeof url === "string" ? url : url.text()));
  try {
    const request = provider.request(packageJob(job, images));
    const { path, body } = await waitForPackage(request, context.signal, context.clock);
    if (typeof path !== "string" || !path.startsWith("/")) throw new Error("the request has no path");
    return { path, body };
  } catch (cause) {
    const { aborted, reason } = context.signal;
    if (aborted && cause === reason && !(cause instanceof core.TimeLimitError)) throw cause;
    const message = `The package cannot build a request: ${toClause(errorText(cause))}.`;
    throw core.unsendable(message, { cause });
  }
}

type JobParts = Pick<core.Job, "taskId" | "request" | "options" | "references">;

function packageJob(job: JobParts, images: readonly string[]): Job {
  const { taskId, request, options } = job;
  const { prompt, ratio, quality } = request;
  const { model, fields } = options;
  const { width, height } = requestedSize(job) ?? options;
  return { taskId, prompt, model, ratio, quality, width, height, images, fields };
}

/** Error that `fetch` throws through the package's code after a failed poll. `reply`: result of the poll. */
class FailedPollError extends Error {
  readonly reply: core.PollReply;

  constructor(reply: core.PollReply) {
    super("no usable reply");
    this.reply = reply;
  }
}

async function pollPackage(
  id: string,
  provider: Provider,
  poll: JobPoll,
  server: ProviderServer,
): Promise<core.PollReply> {
  const fetch: Fetch = async (address) => {
    const values: unknown[] = [];
    const reply = await poll.get(resolveUrl(address, server), (_fields, json) => {
      values.push(json);
      return { status: "running", providerState: null };
    });
    if (values.length === 0) throw new FailedPollError(reply);
    return { status: 200, json: async () => values[0] };
  };
  try {
    if (!provider.poll) throw new TypeError("the package cannot poll");
    const state = await provider.poll(id, { fetch });
    return await poll.reply(toPolledState(state, poll), state);
  } catch (error) {
    if (error instanceof FailedPollError) return error.reply;
    return failedPoll(toClause(server.mask(errorText(error))));
  }
}

/** Limits the time of a poll. A late poll counts as failed, because a poll is safe to repeat. Never throws. */
async function limitPoll(
  poll: Promise<core.PollReply>,
  { signal, timeoutMs }: core.PollOptions,
  { clock }: ProviderDeps,
): Promise<core.PollReply> {
  try {
    return await waitForPackage(poll, signal, clock, timeoutMs);
  } catch (error) {
    return failedPoll(errorText(error));
  }
}

function toPolledState(state: JobState, poll: JobPoll): core.PolledState {
  switch (state.status) {
    case "running":
      return { status: "running", providerState: null };
    case "failed":
      return poll.failed(fieldText(state.why) ?? "failed");
    case "done":
      return poll.finished(state.usage, state);
    default:
      throw new Error("the package returned no job status");
  }
}

function readWithPackage(provider: Provider, reply: unknown): ReadReply | null {
  const read: unknown = provider.read(reply);
  return isJsonObject(read) ? (read as ReadReply) : null;
}

/** Resolves an image's URL against the server's address. Returns other values unchanged. */
function resolveImageUrl(url: unknown, server: ProviderServer): unknown {
  const address = typeof url === "object" && url !== null && "url" in url ? url.url : url;
  const isUrlText = typeof address === "string" && address !== "" && !isDataUrl(address);
  return isUrlText ? server.imageAt(address).url : url;
}

/** If the package cannot poll, an id counts as a reply without an image. */
function readReply(reply: StoredReply, provider: Provider): Read | null {
  const json = parseReplyJson(reply);
  if (json === undefined) return null;
  const text = reply.body.toString("utf8");
  const read = readWithPackage(provider, json);
  if (read === null) return { none: text };
  if ("id" in read) return provider.poll && isId(read.id) ? { id: read.id } : { none: text };
  if ("refused" in read) return { none: refusal(read.refused) };
  const images = "images" in read ? read.images : [read];
  return imagesOrNone(images.filter(isJsonObject).flatMap(toImages), read.usage, text);
}

function toImages(read: ReadImage): ReplyImage[] {
  return "url" in read ? [{ url: read.url }] : decodeImages([read.base64]);
}

function refusal(message: string): string {
  return JSON.stringify({ error: { message, code: "moderation" } });
}

/** @throws ProviderError if the list cannot be read; the signal's reason if the signal aborts */
async function listModels(
  provider: Provider,
  server: ProviderServer,
  signal: AbortSignal,
  { clock }: ProviderDeps,
): Promise<string[] | null> {
  try {
    const names: unknown = (await waitForPackage(provider.models?.(), signal, clock)) ?? null;
    if (names !== null && !Array.isArray(names)) throw new Error("its models are not a list");
    return names?.filter((name) => typeof name === "string") ?? null;
  } catch (cause) {
    if (cause instanceof core.ProviderError || (signal.aborted && cause === signal.reason)) throw cause;
    const message = `The package cannot list its models: ${toClause(server.mask(errorText(cause)))}.`;
    throw new core.ProviderError(message, { kind: "unsent" }, { cause });
  }
}

const FETCH_MS = 15_000;

function fetchFrom(server: ProviderServer): Fetch {
  return async (address) => {
    const url = resolveUrl(address, server);
    if (url === null)
      throw new Error(`${address} is not an address of ${server.host}, so the key is not sent to it`);
    const { status, body } = await server.get(url, AbortSignal.timeout(FETCH_MS));
    if (!isSuccess({ status })) throw new Error(`${server.host} answered with HTTP ${status}`);
    return { status, json: async () => parseLenientJson(body) };
  };
}

function resolveUrl(address: string, server: ProviderServer) {
  return server.ownUrl(address.startsWith("/") ? server.urlBelow(address) : address);
}

/** Time limit of a package's call in milliseconds, enough for several requests of 15 s each. */
const MAX_CALL_MS = 60_000;

/**
 * Limits the time of a package's call, because the call might never settle and might ignore the signal.
 * The timer also keeps the process alive, because the process would otherwise exit without a message.
 * @throws the signal's reason, or an Error after the time limit
 */
async function waitForPackage<Result>(
  work: Result | Promise<Result>,
  signal: AbortSignal,
  { sleep }: Pick<Clock, "sleep">,
  limitMs = MAX_CALL_MS,
): Promise<Result> {
  const finished = new AbortController();
  const ms = Math.min(limitMs, MAX_CALL_MS);
  const timeout = sleep(ms, AbortSignal.any([signal, finished.signal])).then(() => {
    throw new Error(`the package does not answer within ${formatDuration(ms)}`);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    finished.abort();
  }
}
