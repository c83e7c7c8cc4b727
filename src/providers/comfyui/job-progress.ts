import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import type { FollowHow } from "../provider.ts";
import type { ComfyServer } from "./comfy-server.ts";

/** The kind of a binary message with a preview of the image. */
const PREVIEW = 1;
/** Before the image: the kind of the message, and the type of the image, four bytes each. */
const HEAD_BYTES = 8;

/**
 * Reports the progress of a job, from the server's messages to its client: the job's id is the client's too. Ends with the
 * job, or if the server has no messages. Never throws. @returns whether the job has ended
 */
export async function followJob(
  jobId: string,
  { signal, onProgress, onPreview }: FollowHow,
  server: ComfyServer,
): Promise<boolean> {
  const over = new AbortController();
  try {
    const found = await server.find(jobId, signal);
    if (found === null || found.place === "ended") return found !== null;
    const progress = new JobProgress(jobId, Object.keys(fieldsOf(found.graph)));
    const onText = (text: string) => {
      const share = progress.after(text);
      if (share !== null) onProgress(share);
      if (progress.isOver) over.abort();
    };
    const onBytes = (message: Buffer) => {
      if (message.length > HEAD_BYTES && message.readUInt32BE(0) === PREVIEW)
        onPreview?.(message.subarray(HEAD_BYTES));
    };
    const until = AbortSignal.any([signal, over.signal]);
    const to = { onText, ...(onPreview && { onBytes }) };
    await server.http.listen(`/ws?clientId=${encodeURIComponent(jobId)}`, until, to);
    return progress.isOver;
  } catch {
    // Only the image counts.
    return false;
  }
}

/** Progress of a job: the share of its nodes that are done, with the part of those that report their own progress. */
class JobProgress {
  /** Whether the job has ended. */
  isOver = false;
  readonly #jobId: string;
  readonly #nodes: ReadonlySet<string>;
  readonly #done = new Map<string, number>();
  #current: unknown = null;
  #share = 0;

  /** @param nodes the ids of all nodes of its workflow */
  constructor(jobId: string, nodes: Iterable<string>) {
    this.#jobId = jobId;
    this.#nodes = new Set(nodes);
  }

  /** Takes a message. @returns the progress, from 0 to 1; null if the message does not change it */
  after(text: string): number | null {
    const { type, data } = fieldsOf(jsonOrNull(text));
    const facts = fieldsOf(data);
    if (facts.prompt_id !== this.#jobId) return null;
    this.#take(type, facts);
    const sum = [...this.#done.values()].reduce((all, each) => all + each, 0);
    const share = this.#nodes.size === 0 ? 0 : sum / this.#nodes.size;
    // A node can begin anew; progress never goes back.
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
        this.#set(facts.node, partOf(facts));
        return;
      case "progress_state":
        for (const [id, node] of Object.entries(fieldsOf(facts.nodes))) {
          const state = fieldsOf(node);
          this.#set(id, state.state === "finished" ? 1 : partOf(state));
        }
        return;
      case "execution_success":
      case "execution_error":
      case "execution_interrupted":
        this.isOver = true;
    }
  }

  #set(id: unknown, part: number): void {
    if (typeof id !== "string" || !this.#nodes.has(id)) return;
    this.#done.set(id, Math.max(part, this.#done.get(id) ?? 0));
  }
}

function partOf({ value, max }: Record<string, unknown>): number {
  if (typeof value !== "number" || typeof max !== "number" || max <= 0) return 0;
  return Math.min(Math.max(value / max, 0), 1);
}
