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

/** Black Forest Labs. A job is polled at the address that its reply gives, on one of the service's own hosts. */
export function bflProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const server = new ProviderServer({ ...setup, otherHosts: ".bfl.ai" }, deps);
  return serviceProvider(setup, server, createForm(server), deps);
}

function createForm(server: ProviderServer): Form {
  const idIn = ({ id, polling_url: pollingUrl, cost }: Fields) => {
    if (!isJobId(id)) return null;
    const url = server.ownUrl(pollingUrl ?? server.urlBelow(`/get_result?id=${id}`));
    if (url === null) return null;
    // Only this reply has the price. A URL's fragment is never sent.
    return typeof cost === "number" ? `${url.href.replace(/#.*$/s, "")}#${COST}${cost}` : url.href;
  };
  return {
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "fields"],
    check: modelNamed(/^[\w-][\w.-]*$/, "Black Forest Labs is named like flux-2-pro"),
    isSizedByReference: true,
    async request(job, context) {
      const { model, fields } = job.options;
      const files = await referenceFiles(job, context);
      const { quality } = job.request;
      if (quality !== undefined && BY_RATIO.test(model ?? ""))
        context.onWarning?.(`${model} does not support the quality ${quality}: it was not sent.`);
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
    // The polling address does not follow from the id.
    read: (reply) =>
      jobIn(reply, (fields, isCut) => (isCut && fields.polling_url === undefined ? null : idIn(fields))),
    poll: (id, poll) => {
      const [address, cost] = id.split(`#${COST}`);
      const usage = cost ? { cost: Number(cost) } : null;
      return poll.get(
        server.ownUrl(address),
        (fields) => parseState(fields, usage, poll),
        ({ status, body }) => (status === 500 ? null : parseState(fieldsOf(jsonOrNull(body)), usage, poll)),
      );
    },
  };
}

const COST = "cost=";

function parseState(fields: Fields, usage: Fields | null, poll: JobPoll): ReadState {
  const { status, result, details } = fields;
  if (status === "Pending" || status === "Processing" || status === "Preview")
    return { status: "running", providerState: status };
  if (status === "Ready") return poll.finished(usage, fields);
  if (status === "Task not found") return "missing";
  if (!isFailedState(status)) return null;
  const more = fieldText(details ?? fieldsOf(result).error);
  return poll.failed(more === null ? status : `${status}: ${more}`);
}

/** Models that know no pixels. */
const BY_RATIO = /kontext|ultra/;
/** Sides are multiples of this. */
const STEP_PX = 32;

/** @param reference the file of the first reference image, if there is one */
function sizeInput(job: Job, reference: string | undefined): Fields {
  const { options, request } = job;
  const { model, sizeForm } = options;
  const ratio = request.ratio === "auto" ? undefined : request.ratio;
  const requested = requestedSize(job, reference);
  const size = requested && { width: stepped(requested.width), height: stepped(requested.height) };
  if (sizeForm !== null) return sizeFields({ ratio, size }, null, sizeForm);
  if (BY_RATIO.test(model ?? "")) return ratio === undefined ? {} : { aspect_ratio: ratio };
  return request.ratio === "auto" ? {} : { ...size };
}

function stepped(px: number): number {
  return Math.max(1, Math.round(px / STEP_PX)) * STEP_PX;
}

/** `input_image`, `input_image_2`, …, in base64. */
function referenceFields(files: readonly LocalReference[]): Fields {
  const nameAt = (at: number) => (at === 0 ? "input_image" : `input_image_${at + 1}`);
  return Object.fromEntries(files.map((file, at) => [nameAt(at), toBase64(file)]));
}
