import type { HttpReply } from "../api/http-client.ts";
import { fieldsOf } from "../lib/json.ts";
import { requestedSize } from "../models/requested-size.ts";
import { readErrorBody } from "./failed-reply.ts";
import { findReplyImageUrls } from "./found-images.ts";
import { type Fields, isFailedState, type JobPoll } from "./job-poll.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import { sizeFields } from "./openai/size.ts";
import type { Job, PolledState, PollReply, Provider } from "./provider.ts";
import { ProviderServer } from "./provider-http.ts";
import { referenceUrls } from "./reference-files.ts";
import { parseLenientJson } from "./reply-json.ts";
import { type Form, isJobId, type JobContext, jobIn, modelNamed, serviceProvider } from "./service.ts";

/** fal's queue. The addresses of a request are used as its reply gives them, if they are fal's own. */
export function falProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const server = new ProviderServer({ ...setup, otherHosts: ".fal.run" }, deps);
  return serviceProvider(setup, server, createForm(server), deps);
}

function createForm(server: ProviderServer): Form {
  const idIn = ({ request_id: id, ...urls }: Fields, { options: { model } }: Job) => {
    if (!isJobId(id) || model === null) return null;
    const atFal = (url: unknown) => server.ownUrl(url)?.href;
    const response = atFal(urls.response_url) ?? server.urlBelow(`/${appName(model)}/requests/${id}`);
    const usual = parseAddresses(response);
    const status = atFal(urls.status_url) ?? usual.status;
    // The job cannot be cancelled at another server's address. Its image can still be had.
    const cancel = urls.cancel_url === undefined ? usual.cancel : (atFal(urls.cancel_url) ?? "");
    return toJobId({ response, status, cancel });
  };
  return {
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
    check: modelNamed(/^[\w-][\w.-]*(?:\/[\w-][\w.-]*){1,4}$/, "fal is named like fal-ai/flux/dev"),
    async request(job, context) {
      const { model, fields } = job.options;
      const body = {
        prompt: job.request.prompt,
        ...sizeInput(job),
        ...(await referenceFields(job, context)),
        ...fields,
      };
      return { path: `/${model}`, body };
    },
    read: (reply, job) => jobIn(reply, (fields) => idIn(fields, job)),
    poll: (id, poll) => polled(id, server, poll),
    resultIn: findReplyImageUrls,
    seedsIn: ({ seed }) => seed,
    async cancelAt(id) {
      const url = server.ownUrl(parseAddresses(id).cancel);
      return url && { method: "PUT", url };
    },
  };
}

/** The part of a model's name that the addresses of its requests begin with, as fal's own client makes them. */
function appName(model: string): string {
  const parts = model.split("/");
  return parts.slice(0, IN_NAMESPACE.has(parts[0] ?? "") ? 3 : 2).join("/");
}

const IN_NAMESPACE: ReadonlySet<string> = new Set(["workflows", "comfy"]);

/** Addresses of a request's result, status and cancellation. */
interface Addresses {
  response: string;
  status: string;
  cancel: string;
}

/** The result's address alone, where the others follow from it; else all three. */
function toJobId({ response, status, cancel }: Addresses): string {
  const usual = parseAddresses(response);
  return status === usual.status && cancel === usual.cancel ? response : [response, status, cancel].join(" ");
}

function parseAddresses(id: string): Addresses {
  const [response = "", status = `${response}/status`, cancel = `${response}/cancel`] = id.split(" ");
  return { response, status, cancel };
}

async function polled(id: string, server: ProviderServer, poll: JobPoll): Promise<PollReply> {
  const { response, status } = parseAddresses(id);
  let isDone = false;
  let metrics: unknown;
  const seen = await poll.get(server.ownUrl(status), (fields) => {
    isDone = fields.status === "COMPLETED";
    metrics = fields.metrics;
    const isRunning = isDone || fields.status === "IN_QUEUE" || fields.status === "IN_PROGRESS";
    if (isRunning) return { status: "running", providerState: String(fields.status) };
    return isFailedState(fields.status) ? poll.failed(failureWords(fields.status, fields)) : null;
  });
  if (!isDone) return seen;
  return poll.get(
    server.ownUrl(response),
    (fields) => (Object.keys(fields).length === 0 ? null : poll.finished(metrics, fields)),
    (reply) => failedIn(reply, poll),
  );
}

function failureWords(status: string, fields: Fields): string {
  const { words } = readErrorBody(JSON.stringify(fields));
  return words === null ? status : `${status}: ${words}`;
}

/** A job that has failed is `COMPLETED`, and its result an error with a `detail`: with 500 a list, else of any form. */
function failedIn({ status, body }: HttpReply, poll: JobPoll): PolledState | null {
  const { words } = readErrorBody(body);
  const { detail } = fieldsOf(parseLenientJson(body));
  const isOwn = status === 500 ? Array.isArray(detail) && detail.length > 0 : detail !== undefined;
  return isOwn && words !== null ? poll.failed(`HTTP ${status}: ${words}`) : null;
}

function sizeInput(job: Job): Fields {
  const { options, request, references } = job;
  const { sizeForm } = options;
  const size = requestedSize(job);
  if (sizeForm !== null) return sizeFields({ ratio: request.ratio, size }, null, sizeForm);
  // Beside an image that is edited, its own size is the usual one.
  const isAsked = request.ratio !== undefined || request.quality !== undefined;
  const isFree = request.ratio === "auto" || (references.length > 0 && !isAsked);
  return isFree || size === null ? {} : { image_size: size };
}

/** The models that edit several images take a list, also of one. */
async function referenceFields({ references, options }: Job, context: JobContext): Promise<Fields> {
  if (references.length === 0) return {};
  const urls = referenceUrls(references, context);
  const isList = urls.length > 1 || options.model?.endsWith("/edit");
  return isList ? { image_urls: urls } : { image_url: urls[0] };
}
