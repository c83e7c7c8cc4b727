import { fieldsOf } from "../../lib/json.ts";
import { clauseOf, settled } from "../failures.ts";
import type { ProviderDeps, ServerSetup } from "../kind.ts";
import { jsonBody } from "../post-body.ts";
import {
  type Job,
  type Prepared,
  type Provider,
  ProviderError,
  type SubmitHow,
  type SubmitReply,
  type UnknownReply,
} from "../provider.ts";
import { ProviderServer } from "../provider-http.ts";
import { isSuccess } from "../reply-file.ts";
import { jsonIn } from "../reply-json.ts";
import { cancelJob } from "./cancel-job.ts";
import { checkpointNamed } from "./checkpoint.ts";
import { ComfyServer } from "./comfy-server.ts";
import { followJob } from "./follow.ts";
import { type Graph, graphJson } from "./graph.ts";
import { jobIdOf, noteJob } from "./job-id.ts";
import { MissingJobs } from "./missing-jobs.ts";
import { factsOf, requireOneOutput, requireOneOutputUnasked } from "./node-facts.ts";
import { hasNoPlace, type Placement, placed, placementLines, placementsIn } from "./placements.ts";
import { pollJob, withoutImage } from "./poll-job.ts";
import { uploadReferences } from "./references.ts";
import { workflowRefusal } from "./refusal.ts";
import { wantedOf } from "./wanted.ts";
import { Workflows } from "./workflows.ts";

/** How long a poll or a question of another kind may take where nobody says, in milliseconds. */
const ASK_MS = 15_000;
const GIVEN_UP_MS = 5_000;
/** A job whose reply was lost is asked for so often, and for so long, in milliseconds. */
const LOOK_EVERY_MS = 2_000;
const LOOK_MS = 60_000;

/** Makes images with a ComfyUI server: a job gets an id of ours, waits in the server's queue, and is polled. */
export function comfyUiProvider(setup: ServerSetup, deps: ProviderDeps): Provider {
  const { concurrency, timeoutMs, workflow } = setup.options;
  const http = new ProviderServer(setup, deps);
  const context = {
    http,
    server: new ComfyServer(http),
    missing: new MissingJobs(deps.clock),
    workflows: new Workflows(workflow, deps.workflows),
    deps: { ...deps, generatorUrl: new URL(setup.url) },
  };
  const { server, workflows, missing } = context;
  return {
    version: 1,
    limits: { concurrency, submitMs: timeoutMs },
    prepare: (signal) => prepared(context, signal),
    // Without the seed, which the id of the task decides.
    describe: async ({ request, options: work, references }) => {
      const job = { request, options: work, references };
      const template = workflows.of(job.options);
      const placements = placementsFor(template, job);
      const body = { prompt: graphJson(placed(template, placements)) };
      return { ...http.shown("/prompt", body), workflow: placementLines(template, placements) };
    },
    check: (job) => problemOf(job, workflows),
    submit: (job, how) => submitted(job, how, context),
    recover: (job, { signal }) => recovered(job, signal, context),
    isAtWork: (job, signal) =>
      server.find(jobIdOf(job), signal).then(
        (found) => found !== null,
        () => true,
      ),
    poll: (taskId, ms = ASK_MS, signal) =>
      pollJob(
        taskId,
        { server, http, missing },
        AbortSignal.any([signal, AbortSignal.timeout(Math.ceil(ms))]),
      ),
    images: async (job) => {
      throw await withoutImage(job, http);
    },
    follow: (taskId, how) => followJob(taskId, how, http, server),
    async cancel(taskId, signal) {
      const isStopped = await cancelJob(taskId, server, signal);
      if (isStopped) missing.removed(taskId);
      return isStopped;
    },
    downloadHeaders: http.downloadHeaders,
    models: (signal) => server.checkpoints(signal),
    close: () => http.close(),
  };
}

interface Context {
  http: ProviderServer;
  server: ComfyServer;
  missing: MissingJobs;
  workflows: Workflows;
  deps: ProviderDeps & { generatorUrl: URL };
}

/** Reads the workflow, and asks the server about its nodes. @throws ProviderError, UsageError */
async function prepared({ workflows, server }: Context, signal: AbortSignal | null): Promise<Prepared> {
  const workflow = await workflows.fromFile();
  const named = workflow === null ? {} : { workflow: workflow.sha256 };
  if (workflow === null) return { isPaid: false };
  if (signal === null) {
    requireOneOutputUnasked(workflow.graph);
    return { isPaid: false, ...named };
  }
  const facts = await factsOf(workflow.graph, server, signal);
  requireOneOutput(workflow.graph, facts);
  return { isPaid: [...facts.values()].some(({ isPaid }) => isPaid), ...named };
}

type Parts = Pick<Job, "request" | "options" | "references"> & Partial<Pick<Job, "taskId" | "index">>;

/** What goes where. @param images names of the reference images at the server @throws ProviderError */
function placementsFor(graph: Graph, job: Parts, images?: readonly string[]): Placement[] {
  // Before they are uploaded, they have no names.
  const names = images ?? job.references.map((_, at) => `<reference image ${at + 1}>`);
  return placementsIn(graph, wantedOf(job, names));
}

/** What is wrong with a request, as a sentence; null for nothing. */
function problemOf(job: Parts, workflows: Workflows): string | null {
  const { model, workflow } = job.options;
  if (workflow === undefined && job.references.length > 0)
    return "Without --workflow, a ComfyUI server takes no reference images: give it a workflow with a Load Image node.";
  if (workflow === undefined && model === null)
    return "Without --workflow, a ComfyUI server needs the name of a checkpoint: add --model <name>.";
  try {
    placementsFor(workflows.of(job.options), job);
    return null;
  } catch (error) {
    if (error instanceof ProviderError) return error.message;
    throw error;
  }
}

/** Sends a job. One whose reply was lost is looked for. Never throws. */
async function submitted(job: Job, how: SubmitHow, context: Context): Promise<SubmitReply> {
  const reply = await settled((onSent) => sent(job, { ...how, onSent }, context), how.onSent);
  return reply.outcome === "unknown" ? afterLoss(reply, job, how.signal, context) : reply;
}

/** @throws ProviderError, or the signal's reason */
async function sent(job: Job, how: SubmitHow, context: Context): Promise<SubmitReply> {
  const { server, http, deps } = context;
  const { signal } = how;
  const id = jobIdOf(job);
  // The same id twice is queued twice. An earlier process may have sent it without reading the reply.
  if ((await server.find(id, signal)) !== null) return { outcome: "accepted", taskId: id };
  const model = await checkpointNamed(job.options.model, server, signal);
  const images = await uploadReferences(job, server, { ...deps, signal });
  const template = context.workflows.of(job.options);
  const graph = placed(
    template,
    placementsFor(template, { ...job, options: { ...job.options, model } }, images),
  );
  if (job.references.length > 0 && hasNoPlace(template, "prompt"))
    how.onWarning?.("The workflow has no place for a prompt: it has no effect on the image.");
  const body = { prompt: graphJson(graph), prompt_id: id, client_id: id };
  noteJob(id, job);
  const reply = await http.post("/prompt", jsonBody(body), job, how);
  if (!isSuccess(reply)) throw workflowRefusal(reply, graph, http.asked(job.isPaid));
  const { prompt_id } = fieldsOf(jsonIn(reply));
  if (typeof prompt_id !== "string" || !/^[\w-]{1,100}$/.test(prompt_id))
    throw http.lost(reply.cut ?? "it names no job");
  return { outcome: "accepted", taskId: prompt_id };
}

/** What became of a job whose reply was lost: the server knows. */
async function afterLoss(
  lost: UnknownReply,
  job: Job,
  signal: AbortSignal,
  context: Context,
): Promise<SubmitReply> {
  const found = await recovered(job, signal, context);
  if (found === null) return lost;
  return found.outcome === "unknown" ? { ...lost, isAskable: true } : found;
}

/** What became of a job whose process ended. One that is given up is looked for once all the same, to be stopped then. */
function recovered(job: Job, signal: AbortSignal, context: Context): Promise<SubmitReply | null> {
  if (signal.aborted) return whereabouts(job, AbortSignal.timeout(GIVEN_UP_MS), signal, context);
  const limited = AbortSignal.any([signal, AbortSignal.timeout(LOOK_MS)]);
  return whereabouts(job, limited, limited, context);
}

/**
 * Asks for a job until the server has it, or is certain not to: null. `unknown` if it cannot be asked, or not for as long
 * as that takes. Never throws. @param until ends the asking
 */
async function whereabouts(
  job: Job,
  signal: AbortSignal,
  until: AbortSignal,
  { server, missing, deps }: Context,
): Promise<SubmitReply | null> {
  const id = jobIdOf(job);
  try {
    for (;;) {
      if ((await server.find(id, signal)) !== null) return { outcome: "accepted", taskId: id };
      if (missing.isGone(id)) return null;
      await deps.clock.sleep(LOOK_EVERY_MS, until);
    }
  } catch (error) {
    missing.reset(id);
    const why = error instanceof Error ? clauseOf(error.message) : String(error);
    return { outcome: "unknown", why, excerpt: null, isAskable: true, cause: error };
  }
}
