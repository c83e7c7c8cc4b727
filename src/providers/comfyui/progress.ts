import { fieldsOf, jsonOrNull } from "../../lib/json.ts";

/**
 * How far a job is, from the messages of a ComfyUI server: the share of its nodes that are done, with the part of those
 * that say how far they are.
 */
export class JobProgress {
  readonly #jobId: string;
  readonly #nodes: ReadonlySet<string>;
  readonly #done = new Map<string, number>();
  #current: string | null = null;
  #share = 0;

  /** @param nodes the ids of all nodes of its workflow */
  constructor(jobId: string, nodes: Iterable<string>) {
    this.#jobId = jobId;
    this.#nodes = new Set(nodes);
  }

  /** Whether the job has ended. */
  isOver = false;

  /** Takes a message. @returns how far the job is now, from 0 to 1; null where the message says nothing new */
  after(text: string): number | null {
    const { type, data } = fieldsOf(jsonOrNull(text));
    const facts = fieldsOf(data);
    if (facts.prompt_id !== this.#jobId) return null;
    if (typeof type === "string") this.#take(type, facts);
    const sum = [...this.#done.values()].reduce((all, each) => all + each, 0);
    const share = this.#nodes.size === 0 ? 0 : sum / this.#nodes.size;
    // A node can begin anew; an image that is less far than before would be no news.
    if (share <= this.#share) return null;
    this.#share = share;
    return share;
  }

  #take(type: string, facts: Record<string, unknown>): void {
    switch (type) {
      case "execution_cached":
        if (Array.isArray(facts.nodes)) for (const id of facts.nodes) this.#set(id, 1);
        return;
      case "executing":
        if (this.#current !== null) this.#set(this.#current, 1);
        this.#current = typeof facts.node === "string" ? facts.node : null;
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
