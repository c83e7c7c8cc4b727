import type { WholeNumber } from "../../lib/exact-integer.ts";
import { requestedSize } from "../../models/requested-size.ts";
import type { ProviderDeps, ServerSetup } from "../kind.ts";
import { type Job, type Prepared, type Provider, ProviderError } from "../provider.ts";
import { ProviderServer } from "../provider-http.ts";
import { chosenSeed } from "../seeds.ts";
import { ComfyServer } from "./comfy-server.ts";
import type { Graph } from "./graph.ts";
import { followJob } from "./job-progress.ts";
import { loadNodeFacts, requireOneOutput } from "./node-facts.ts";
import { assignInputs, fillWorkflow, formatPlacements, jobValues } from "./placements.ts";
import { pollJob } from "./poll-job.ts";
import { recoverJob, type SubmitContext, submitJob, toJobId } from "./submit-job.ts";
import { Workflows } from "./workflow-file.ts";

export function comfyUiProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const { concurrency, timeoutMs, workflow } = setup.options;
  const http = new ProviderServer(setup, deps);
  const server = new ComfyServer(http, deps.clock);
  const workflows = new Workflows(workflow, deps.workflows);
  const context = { server, workflows, deps: { ...deps, generatorUrl: new URL(setup.url) } };
  return {
    version: 1,
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
    limits: { concurrency, submitMs: timeoutMs },
    prepare: (signal) => prepareWorkflow(context, signal),
    // The seed is shown as `<seed>`, because the real seed depends on the id of a task that does not exist yet.
    describe: async ({ request, options, references }) => {
      const template = workflows.get(options);
      const { placements } = placementsFor(template, { request, options, references }, "<seed>");
      const body = { prompt: Object.fromEntries(fillWorkflow(template, placements)) };
      return { ...http.describe("/prompt", body), workflow: formatPlacements(template, placements) };
    },
    isSizedByReference: true,
    check: (job) => findProblem(job, workflows),
    getSeed(job) {
      try {
        return placementsFor(workflows.get(job.options), job, chosenSeed(job)).seed;
      } catch {
        return null;
      }
    },
    submit: (job, submitOptions) => submitJob(job, submitOptions, context),
    recover: (job, { signal }) => recoverJob(job, signal, context),
    isAtWork: (job, signal) =>
      server.find(toJobId(job), signal).then(
        (serverJob) => serverJob !== null,
        () => true,
      ),
    poll: (taskId, pollOptions) => pollJob(taskId, server, pollOptions),
    images: async () => {
      const message = `The workflow ended at ${http.host} without an image of its output node.`;
      throw new ProviderError(message, { kind: "lost" });
    },
    follow: (taskId, followOptions) => followJob(taskId, followOptions, server),
    cancel: (taskId, signal) => server.cancel(taskId, signal),
    downloadHeaders: http.downloadHeaders,
    models: (signal) => server.checkpoints(signal),
    close: () => http.close(),
  };
}

/** @param signal null if no request may be sent @throws ProviderError, UsageError */
async function prepareWorkflow(
  { workflows, server }: SubmitContext,
  signal: AbortSignal | null,
): Promise<Prepared> {
  const workflow = await workflows.fromFile();
  if (workflow === null) return { isPaid: false };
  const { graph, sha256 } = workflow;
  const facts = signal === null ? undefined : await loadNodeFacts(graph, server, signal);
  requireOneOutput(graph, facts);
  const isPaid = [...(facts?.values() ?? [])].some((each) => each.isPaid);
  return { isPaid, workflow: sha256 };
}

type Parts = Pick<Job, "request" | "options" | "references">;

/** Assigns inputs with placeholders for the names of reference images not uploaded yet. @throws ProviderError */
function placementsFor(graph: Graph, job: Parts, seed: WholeNumber) {
  const names = job.references.map((_, at) => `<reference image ${at + 1}>`);
  return assignInputs(graph, jobValues(job, names, requestedSize(job), seed));
}

function findProblem(job: Parts, workflows: Workflows): string | null {
  const { model, workflow } = job.options;
  if (workflow === undefined && job.references.length > 0)
    return "Without a workflow, a ComfyUI server does not support reference images: set a workflow with a Load Image node.";
  if (workflow === undefined && model === null)
    return "Without a workflow, a ComfyUI server needs a model: the name of a checkpoint.";
  try {
    placementsFor(workflows.get(job.options), job, 0);
    return null;
  } catch (error) {
    if (error instanceof ProviderError) return error.message;
    throw error;
  }
}
