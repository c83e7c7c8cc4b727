import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import type { FollowOptions } from "../provider.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { type Graph, graphIn, isLink } from "./graph.ts";

/** Type of ComfyUI's binary message with a preview frame. */
const PREVIEW = 1;
/** Bytes before the image: four for the type of the message, four for the type of the image. */
const HEAD_BYTES = 8;

/** A lost connection is replaced once. */
const MAX_CONNECTIONS = 2;

/** Never throws. @returns true if the job has ended, false if the job might still run */
export async function followJob(
  jobId: string,
  { signal, onProgress, onPreview }: FollowOptions,
  server: ComfyServer,
): Promise<boolean> {
  const jobEnd = new AbortController();
  const until = AbortSignal.any([signal, jobEnd.signal]);
  let progress: JobProgress | null = null;
  const onText = (text: string) => {
    const share = progress?.after(text) ?? null;
    if (share !== null) onProgress(share);
    if (progress?.isOver) jobEnd.abort();
  };
  const onBytes = (message: Buffer) => {
    if (message.length > HEAD_BYTES && message.readUInt32BE(0) === PREVIEW)
      onPreview?.(message.subarray(HEAD_BYTES));
  };
  try {
    for (let opened = 0; opened < MAX_CONNECTIONS && !until.aborted; opened++) {
      // The job's state is read before each connection, because no message reports a job that has already ended.
      const job = await server.find(jobId, signal);
      if (job === null || job.state === "ended") return job !== null;
      const graph = graphIn(job.graph);
      progress ??= new JobProgress(jobId, typeof graph === "string" ? new Map() : graph);
      const listeners = { onText, ...(onPreview && { onBytes }) };
      // ComfyUI sends a job's messages only to the client that submitted the job, whose client id is the job's id.
      await server.http.listen(`/ws?clientId=${encodeURIComponent(jobId)}`, until, listeners);
    }
    return jobEnd.signal.aborted;
  } catch {
    // An error of the progress display must not affect the image.
    return false;
  }
}

/** Calculates the completed share of a job's steps. A node that is not a sampler counts as one step. */
class JobProgress {
  isOver = false;
  readonly #jobId: string;
  readonly #work: Map<string, NodeWork>;
  #current: unknown = null;
  #share = 0;

  constructor(jobId: string, graph: Graph) {
    this.#jobId = jobId;
    this.#work = nodeWorkById(graph);
  }

  /** @returns the progress from 0 to 1, or null if the progress did not increase */
  after(text: string): number | null {
    const { type, data } = fieldsOf(jsonOrNull(text));
    const facts = fieldsOf(data);
    if (facts.prompt_id !== this.#jobId) return null;
    this.#take(type, facts);
    const work = [...this.#work.values()];
    const all = work.reduce((sum, { steps }) => sum + steps, 0);
    const doneSteps = work.reduce((sum, { steps, part }) => sum + steps * part, 0);
    const share = all === 0 ? 0 : doneSteps / all;
    // A lower share is not reported, because progress must not decrease if a node restarts or gets more steps.
    if (share <= this.#share) return null;
    this.#share = share;
    return share;
  }

  #take(type: unknown, facts: Record<string, unknown>): void {
    switch (type) {
      case "execution_cached":
        if (Array.isArray(facts.nodes)) for (const id of facts.nodes) this.#set(id, 1);
        return;
      case "executing":
        this.#set(this.#current, 1);
        this.#current = facts.node;
        return;
      case "executed":
        this.#set(facts.node, 1);
        return;
      case "progress":
        this.#count(facts.node, facts);
        return;
      case "progress_state":
        for (const [id, node] of Object.entries(fieldsOf(facts.nodes))) {
          const state = fieldsOf(node);
          this.#count(id, state);
          if (state.state === "finished") this.#set(id, 1);
        }
        return;
      case "execution_success":
      case "execution_error":
      case "execution_interrupted":
        this.isOver = true;
    }
  }

  /** A sampler's reported number of steps replaces the number from its inputs. */
  #count(id: unknown, { value, max }: Record<string, unknown>): void {
    if (typeof value !== "number" || typeof max !== "number" || max <= 0) return;
    const work = this.#set(id, clamp(value / max, 0, 1));
    if (work?.isSampler) work.steps = clamp(max, 1, MAX_STEPS);
  }

  #set(id: unknown, part: number): NodeWork | undefined {
    const work = typeof id === "string" ? this.#work.get(id) : undefined;
    if (work) work.part = Math.max(part, work.part);
    return work;
  }
}

interface NodeWork {
  isSampler: boolean;
  /** Weight of the node in the job's progress. */
  steps: number;
  /** Completed part, from 0 to 1. */
  part: number;
}

/** Assumed number of steps of a sampler, until the sampler reports its number. */
const DEFAULT_STEPS = 20;
const MAX_STEPS = 10_000;
const MAX_LEVELS = 16;

/** A scheduler's steps count for the sampler that gets its sigmas, because only the sampler runs the steps. */
function nodeWorkById(graph: Graph): Map<string, NodeWork> {
  const links = [...graph.values()].map(({ inputs }) => inputs.sigmas).filter(isLink);
  const schedulers = new Set(links.map(([id]) => id));
  const nodeWork = (id: string): NodeWork => {
    const steps = schedulers.has(id) ? null : countSteps(id, graph);
    const isSampler =
      steps !== null || (!schedulers.has(id) && "latent_image" in (graph.get(id)?.inputs ?? {}));
    return { isSampler, steps: isSampler ? clamp(steps ?? DEFAULT_STEPS, 1, MAX_STEPS) : 1, part: 0 };
  };
  return new Map([...graph.keys()].map((id) => [id, nodeWork(id)]));
}

/** Returns the number of steps in the inputs of a node or of the nodes linked to it, or null. */
function countSteps(id: string, graph: Graph, levels = MAX_LEVELS): number | null {
  const { steps, sigmas } = graph.get(id)?.inputs ?? {};
  const linkedValue = isLink(steps) ? graph.get(steps[0])?.inputs.value : steps;
  if (typeof linkedValue === "number" && Number.isFinite(linkedValue)) return linkedValue;
  return isLink(sigmas) && levels > 0 ? countSteps(sigmas[0], graph, levels - 1) : null;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
