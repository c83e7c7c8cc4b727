import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { imagesIn } from "./found-images.ts";
import { type Fields, isFailedState, type JobPoll, type ReadState, wordsOf } from "./job-poll.ts";
import type { ProviderDeps, ServerSetup } from "./kind.ts";
import { sizeFields } from "./openai/size.ts";
import type { Job, Provider } from "./provider.ts";
import { ProviderServer } from "./provider-http.ts";
import { base64Of, referenceFiles } from "./reference-files.ts";
import { type Form, isJobId, type JobContext, jobIn, modelNamed, serviceProvider } from "./service.ts";

/** Black Forest Labs. A job is polled at the address that its reply gives, on one of the service's own hosts. */
export function bflProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const server = new ProviderServer({ ...setup, otherHosts: ".bfl.ai" }, deps);
  return serviceProvider(setup, server, formOf(server), deps);
}

function formOf(server: ProviderServer): Form {
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
    async request(job, context) {
      const { model, fields } = job.options;
      const images = await referenceFields(job, context);
      const { quality } = job.request;
      if (quality !== undefined && BY_RATIO.test(model ?? ""))
        context.onWarning?.(`${model} does not support the quality ${quality}: it was not sent.`);
      return {
        path: `/${model}`,
        body: { prompt: job.request.prompt, ...sizeOf(job), ...images, ...fields },
      };
    },
    resultIn: ({ result }) => imagesIn(result),
    seedsIn: ({ result }) => fieldsOf(result).seed,
    // The polling address does not follow from the id.
    read: (reply) =>
      jobIn(reply, (said, isCut) => (isCut && said.polling_url === undefined ? null : idIn(said))),
    poll: (id, poll) => {
      const [address, cost] = id.split(`#${COST}`);
      const usage = cost ? { cost: Number(cost) } : null;
      return poll.get(
        server.ownUrl(address),
        (said) => stateOf(said, usage, poll),
        ({ status, body }) => (status === 500 ? null : stateOf(fieldsOf(jsonOrNull(body)), usage, poll)),
      );
    },
  };
}

const COST = "cost=";

function stateOf(said: Fields, usage: Fields | null, poll: JobPoll): ReadState {
  const { status, result, details } = said;
  if (status === "Pending" || status === "Processing" || status === "Preview")
    return { status: "running", word: status };
  if (status === "Ready") return poll.finished(usage, said);
  if (status === "Task not found") return "missing";
  if (!isFailedState(status)) return null;
  const more = wordsOf(details ?? fieldsOf(result).error);
  return poll.failed(more === null ? status : `${status}: ${more}`);
}

/** Models that know no pixels. */
const BY_RATIO = /kontext|ultra/;
/** Sides are multiples of this. */
const STEP_PX = 32;

function sizeOf({ options, request: { ratio } }: Job): Fields {
  const { model, sizeForm } = options;
  const asked = ratio === "auto" ? undefined : ratio;
  const [width, height] = [stepped(options.width), stepped(options.height)];
  if (sizeForm !== null) return sizeFields({ ratio: asked, width, height }, null, sizeForm);
  if (BY_RATIO.test(model ?? "")) return asked === undefined ? {} : { aspect_ratio: asked };
  return ratio === "auto" ? {} : { width, height };
}

function stepped(px: number): number {
  return Math.max(1, Math.round(px / STEP_PX)) * STEP_PX;
}

/** `input_image`, `input_image_2`, …, in base64. @throws ProviderError for one that cannot be used */
async function referenceFields(job: Job, context: JobContext): Promise<Fields> {
  const files = await referenceFiles(job, context);
  const nameAt = (at: number) => (at === 0 ? "input_image" : `input_image_${at + 1}`);
  return Object.fromEntries(files.map((file, at) => [nameAt(at), base64Of(file)]));
}
