import { shortTaskIds } from "../../task/short-task-id.ts";

/** The stages in which a task is named, in the order of their lines. */
const STAGES = ["finished", "downloading", "running"] as const;
export type Stage = (typeof STAGES)[number];

/** Where each of several tasks stands; one whose lines are printed is not named any more. */
export class TaskRows {
  readonly #names: readonly string[];
  /** The positions in `#names` of the tasks in each stage, in the order in which they reached it. */
  readonly #stages: Readonly<Record<Stage, Set<number>>>;

  constructor(ids: readonly string[]) {
    this.#names = shortTaskIds(ids);
    this.#stages = { finished: new Set(), downloading: new Set(), running: new Set(ids.keys()) };
  }

  move(at: number, stage: Stage | "printed"): void {
    const isLeft = STAGES.some((each) => this.#stages[each].delete(at));
    if (isLeft && stage !== "printed") this.#stages[stage].add(at);
  }

  /** Whether this task has not finished yet. */
  isLeft(at: number): boolean {
    return this.#stages.running.has(at) || this.#stages.downloading.has(at);
  }

  /** What is shown in so many columns. */
  lines(columns: number): string[] {
    const total = this.#names.length;
    const finished = total - this.#stages.running.size - this.#stages.downloading.size;
    const lists = STAGES.flatMap((stage) => this.#list(stage, columns));
    return [`${finished} of ${total} tasks finished`, ...lists];
  }

  /** The first of these tasks by name, as many as fit, and how many more there are. */
  #list(stage: Stage, columns: number): string[] {
    let more = this.#stages[stage].size;
    if (more === 0) return [];
    let [shown, fitting] = [`${stage}:`, `${stage}: ${more}`];
    for (const at of this.#stages[stage]) {
      shown += `${shown.endsWith(":") ? "" : ","} ${this.#names[at]}`;
      if (shown.length > columns) break;
      more -= 1;
      const line = more === 0 ? shown : `${shown}, ${more} more`;
      if (line.length <= columns) fitting = line;
    }
    return [fitting];
  }
}
