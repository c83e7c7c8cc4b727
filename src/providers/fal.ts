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

/** Provider for fal's queue. Addresses in the reply to a submit are used only if their hosts belong to fal. */
export function falProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const server = new ProviderServer({ ...setup, otherHosts: ".fal.run" }, deps);
  return serviceProvider(setup, server, createForm(server), deps);
}

function createForm(server: ProviderServer): Form {
  const parseJobId = ({ request_id: id, ...urls }: Fields, { options: { model } }: Job) => {
    if (!isJobId(id) || model === null) return null;
    const falAddress = (url: unknown) => server.ownUrl(url)?.href;
    const response = falAddress(urls.response_url) ?? server.urlBelow(`/${appName(model)}/requests/${id}`);
    const defaults = parseAddresses(response);
    const status = falAddress(urls.status_url) ?? defaults.status;
    // A job with a cancel address at another host cannot be cancelled, because the address is not used.
    const cancel = urls.cancel_url === undefined ? defaults.cancel : (falAddress(urls.cancel_url) ?? "");
    return toJobId({ response, status, cancel });
  };
  return {
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
    check: modelNamed(
      /^[\w-][\w.-]*(?:\/[\w-][\w.-]*){1,4}$/,
      "fal needs a model name such as fal-ai/flux/dev.",
    ),
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
    read: (reply, job) => jobIn(reply, (fields) => parseJobId(fields, job)),
    poll: (id, poll) => pollRequest(id, server, poll),
    resultIn: findReplyImageUrls,
    seedsIn: ({ seed }) => seed,
    async cancelAt(id) {
      const url = server.ownUrl(parseAddresses(id).cancel);
      return url && { method: "PUT", url };
    },
  };
}

/** Returns the first part of a model's name, with which fal's official client begins the addresses of jobs. */
function appName(model: string): string {
  const parts = model.split("/");
  return parts.slice(0, NAMESPACES.has(parts[0] ?? "") ? 3 : 2).join("/");
}

const NAMESPACES: ReadonlySet<string> = new Set(["workflows", "comfy"]);

interface Addresses {
  response: string;
  status: string;
  cancel: string;
}

/** The id contains the status and cancel addresses only if they differ from fal's defaults. */
function toJobId({ response, status, cancel }: Addresses): string {
  const defaults = parseAddresses(response);
  return status === defaults.status && cancel === defaults.cancel
    ? response
    : [response, status, cancel].join(" ");
}

function parseAddresses(id: string): Addresses {
  const [response = "", status = `${response}/status`, cancel = `${response}/cancel`] = id.split(" ");
  return { response, status, cancel };
}

async function pollRequest(id: string, server: ProviderServer, poll: JobPoll): Promise<PollReply> {
  const { response, status } = parseAddresses(id);
  let isDone = false;
  let metrics: unknown;
  const statusReply = await poll.get(server.ownUrl(status), (fields) => {
    isDone = fields.status === "COMPLETED";
    metrics = fields.metrics;
    const hasNotFailed = isDone || fields.status === "IN_QUEUE" || fields.status === "IN_PROGRESS";
    if (hasNotFailed) return { status: "running", providerState: String(fields.status) };
    return isFailedState(fields.status) ? poll.failed(failureMessage(fields.status, fields)) : null;
  });
  if (!isDone) return statusReply;
  return poll.get(
    server.ownUrl(response),
    (fields) => (Object.keys(fields).length === 0 ? null : poll.finished(metrics, fields)),
    (reply) => parseFailedResult(reply, poll),
  );
}

function failureMessage(status: string, fields: Fields): string {
  const { words } = readErrorBody(JSON.stringify(fields));
  return words === null ? status : `${status}: ${words}`;
}

/** A failed job is `COMPLETED` too. Its result is an HTTP error with a `detail`, which is a list for status 500. */
function parseFailedResult({ status, body }: HttpReply, poll: JobPoll): PolledState | null {
  const { words } = readErrorBody(body);
  const { detail } = fieldsOf(parseLenientJson(body));
  const isJobFailure = status === 500 ? Array.isArray(detail) && detail.length > 0 : detail !== undefined;
  return isJobFailure && words !== null ? poll.failed(`HTTP ${status}: ${words}`) : null;
}

function sizeInput(job: Job): Fields {
  const { options, request, references } = job;
  const { sizeForm } = options;
  const size = requestedSize(job);
  if (sizeForm !== null) return sizeFields({ ratio: request.ratio, size }, null, sizeForm);
  // If no size is sent, fal uses the size of the reference image.
  const hasSizeSetting = request.ratio !== undefined || request.quality !== undefined;
  const isDefaultSize = request.ratio === "auto" || (references.length > 0 && !hasSizeSetting);
  return isDefaultSize || size === null ? {} : { image_size: size };
}

/** Models that end with `/edit` require a list, even for one image. */
async function referenceFields({ references, options }: Job, context: JobContext): Promise<Fields> {
  if (references.length === 0) return {};
  const urls = referenceUrls(references, context);
  const isList = urls.length > 1 || options.model?.endsWith("/edit");
  return isList ? { image_urls: urls } : { image_url: urls[0] };
}
