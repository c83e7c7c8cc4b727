import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { requestedSize } from "../models/requested-size.ts";
import { findImageUrls } from "./found-images.ts";
import { type Fields, fieldText, isFailedState, type JobPoll, type ReadState } from "./job-poll.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import { sizeFields } from "./openai/size.ts";
import type { Job, Provider } from "./provider.ts";
import { ProviderServer } from "./provider-http.ts";
import { type LocalReference, referenceFiles, toBase64 } from "./reference-files.ts";
import { type Form, isJobId, jobIn, modelNamed, serviceProvider } from "./service.ts";

/** Provider for Black Forest Labs. The reply to a submit contains the address for polls, on any host of the service. */
export function bflProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const server = new ProviderServer({ ...setup, otherHosts: ".bfl.ai" }, deps);
  return serviceProvider(setup, server, createForm(server), deps);
}

function createForm(server: ProviderServer): Form {
  const parseJobId = ({ id, polling_url: pollingUrl, cost }: Fields) => {
    if (!isJobId(id)) return null;
    const url = server.ownUrl(pollingUrl ?? server.urlBelow(`/get_result?id=${id}`));
    if (url === null) return null;
    // Only this reply contains the price, so the price is stored in the id, as the URL's fragment, which is never sent.
    return typeof cost === "number" ? `${url.href.replace(/#.*$/s, "")}#${COST_PREFIX}${cost}` : url.href;
  };
  return {
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "fields"],
    check: modelNamed(/^[\w-][\w.-]*$/, "Black Forest Labs needs a model name such as flux-2-pro."),
    isSizedByReference: true,
    async request(job, context) {
      const { model, fields } = job.options;
      const files = await referenceFiles(job, context);
      const { quality } = job.request;
      if (quality !== undefined && RATIO_MODELS.test(model ?? ""))
        context.onWarning?.(`${model} does not support the quality ${quality}, so the quality was not sent.`);
      return {
        path: `/${model}`,
        body: {
          prompt: job.request.prompt,
          ...sizeInput(job, files[0]?.file),
          ...referenceFields(files),
          ...fields,
        },
      };
    },
    resultIn: ({ result }) => findImageUrls(result),
    seedsIn: ({ result }) => fieldsOf(result).seed,
    // If an incomplete reply lacks the polling address, the id is not used, because the job might be on another host.
    read: (reply) =>
      jobIn(reply, (fields, isCut) =>
        isCut && fields.polling_url === undefined ? null : parseJobId(fields),
      ),
    poll: (id, poll) => {
      const [address, cost] = id.split(`#${COST_PREFIX}`);
      const usage = cost ? { cost: Number(cost) } : null;
      return poll.get(
        server.ownUrl(address),
        (fields) => parseState(fields, usage, poll),
        ({ status, body }) => (status === 500 ? null : parseState(fieldsOf(jsonOrNull(body)), usage, poll)),
      );
    },
  };
}

const COST_PREFIX = "cost=";

function parseState(fields: Fields, usage: Fields | null, poll: JobPoll): ReadState {
  const { status, result, details } = fields;
  if (status === "Pending" || status === "Processing" || status === "Preview")
    return { status: "running", providerState: status };
  if (status === "Ready") return poll.finished(usage, fields);
  if (status === "Task not found") return "missing";
  if (!isFailedState(status)) return null;
  const explanation = fieldText(details ?? fieldsOf(result).error);
  return poll.failed(explanation === null ? status : `${status}: ${explanation}`);
}

/** Models that support an aspect ratio instead of a size in pixels. */
const RATIO_MODELS = /kontext|ultra/;
/** Each side must be a multiple of this number of pixels. */
const STEP_PX = 32;

function sizeInput(job: Job, referenceFile: string | undefined): Fields {
  const { options, request } = job;
  const { model, sizeForm } = options;
  const ratio = request.ratio === "auto" ? undefined : request.ratio;
  const requested = requestedSize(job, referenceFile);
  const size = requested && { width: roundToStep(requested.width), height: roundToStep(requested.height) };
  if (sizeForm !== null) return sizeFields({ ratio, size }, null, sizeForm);
  if (RATIO_MODELS.test(model ?? "")) return ratio === undefined ? {} : { aspect_ratio: ratio };
  return request.ratio === "auto" ? {} : { ...size };
}

function roundToStep(px: number): number {
  return Math.max(1, Math.round(px / STEP_PX)) * STEP_PX;
}

function referenceFields(files: readonly LocalReference[]): Fields {
  const fieldName = (index: number) => (index === 0 ? "input_image" : `input_image_${index + 1}`);
  return Object.fromEntries(files.map((file, index) => [fieldName(index), toBase64(file)]));
}
