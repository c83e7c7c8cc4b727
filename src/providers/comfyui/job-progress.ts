import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import type { FollowHow } from "../provider.ts";
import type { ComfyServer } from "./comfy-server.ts";
import { type Graph, graphIn, isLink } from "./graph.ts";

/** Type of ComfyUI's binary message with a preview frame. */
const PREVIEW = 1;
/** Bytes before the image: type of the message and type of the image, four bytes each. */
const HEAD_BYTES = 8;

/** Maximum connections for a job's messages, because a lost connection is reopened. */
const MAX_CONNECTIONS = 2;

/**
 * Reports progress until the job ends or the server sends no messages. ComfyUI sends them to the client with
 * the job's id. Never throws. @returns whether the job has ended
 */
export async function followJob(
  jobId: string,
  { signal, onProgress, onPreview }: FollowHow,
  server: ComfyServer,
): Promise<boolean> {
  const over = new AbortController();
  const until = AbortSignal.any([signal, over.signal]);
  let progress: JobProgress | null = null;
  const onText = (text: string) => {
    const share = progress?.after(text) ?? null;
    if (share !== null) onProgress(share);
    if (progress?.isOver) over.abort();
  };
  const onBytes = (message: Buffer) => {
    if (message.length > HEAD_BYTES && message.readUInt32BE(0) === PREVIEW)
      onPreview?.(message.subarray(HEAD_BYTES));
  };
  try {
    for (let opened = 0; opened < MAX_CONNECTIONS && !until.aborted; opened++) {
      // The job may have ended between two connections.
      const job = await server.find(jobId, signal);
      if (job === null || job.state === "ended") return job !== null;
      const graph = graphIn(job.graph);
      progress ??= new JobProgress(jobId, typeof graph === "string" ? new Map() : graph);
      const to = { onText, ...(onPreview && { onBytes }) };
      await server.http.listen(`/ws?clientId=${encodeURIComponent(jobId)}`, until, to);
    }
    return over.signal.aborted;
  } catch {
    // A failure of the progress display must not fail the image.
    return false;
  }
}

/** Completed share of a job's work. A sampler's work is its number of steps; any other node counts as one. */
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

  /** @returns the progress, from 0 to 1; null if the message does not change it */
  after(text: string): number | null {
    const { type, data } = fieldsOf(jsonOrNull(text));
    const facts = fieldsOf(data);
    if (facts.prompt_id !== this.#jobId) return null;
    this.#take(type, facts);
    const work = [...this.#work.values()];
    const all = work.reduce((sum, { steps }) => sum + steps, 0);
    const doneSteps = work.reduce((sum, { steps, part }) => sum + steps * part, 0);
    const share = all === 0 ? 0 : doneSteps / all;
    // A node can restart or get more steps, but progress never decreases.
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

  /** A sampler's reported number of steps is more accurate than its inputs. */
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
  /** Weight of the node in the job's work. */
  steps: number;
  /** Completed part, from 0 to 1. */
  part: number;
}

/** Default steps of a sampler, until it reports them. */
const DEFAULT_STEPS = 20;
const MAX_STEPS = 10_000;
const MAX_LEVELS = 16;

/**
 * Returns the weight of each node. A scheduler has steps too, but passes them as sigmas to the sampler that
 * runs them.
 */
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

/** Returns the steps of a node's inputs or of linked nodes, or null. */
function countSteps(id: string, graph: Graph, levels = MAX_LEVELS): number | null {
  const { steps, sigmas } = graph.get(id)?.inputs ?? {};
  const linkedValue = isLink(steps) ? graph.get(steps[0])?.inputs.value : steps;
  if (typeof linkedValue === "number" && Number.isFinite(linkedValue)) return linkedValue;
  return isLink(sigmas) && levels > 0 ? countSteps(sigmas[0], graph, levels - 1) : null;
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(Math.max(value, min), max);
}
