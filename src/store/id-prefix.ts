import { UsageError } from "../lib/error-types.ts";
import type { TaskRecord } from "../task/record.ts";
import { shortTaskId } from "../task/short-task-id.ts";
import { isId } from "./ledger-name.ts";

/** Shorter beginnings would often fit tasks that were not meant. */
const SHORTEST = 6;

/** Whether a text may be the beginning of a task's id, and is not a whole one of the ledger's own. */
export function mayBePrefix(text: string): boolean {
  return text.length >= SHORTEST && !isId(text);
}

/** The newest task of each id. */
type Matches = Map<string, TaskRecord>;

/**
 * Finds tasks by the beginnings of their ids, the service's or the ledger's own; if no id begins that way, by the id characters in
 * their images' file names.
 */
export class IdPrefixes {
  /** Of each prefix, the tasks whose ids begin so, and those whose images are named by it. */
  readonly #matches: Map<string, { begun: Matches; named: Matches }>;

  constructor(prefixes: Iterable<string>) {
    this.#matches = new Map(
      Array.from(prefixes, (prefix) => [prefix, { begun: new Map(), named: new Map() }]),
    );
  }

  get isEmpty(): boolean {
    return this.#matches.size === 0;
  }

  /** Takes note of a task. Newer ones come first. */
  note(record: TaskRecord): void {
    const { id, state } = record;
    const taskId = "taskId" in state ? state.taskId : null;
    const ids = taskId === null ? [id] : [id, taskId];
    const short = taskId === null ? null : shortTaskId(taskId);
    for (const [prefix, { begun, named }] of this.#matches) {
      const match = ids.find((each) => each.startsWith(prefix));
      if (match !== undefined && !begun.has(match)) begun.set(match, record);
      if (taskId !== null && short === prefix && !named.has(taskId)) named.set(taskId, record);
    }
  }

  /** The task of each prefix that fits one. @throws UsageError if one fits several */
  found(): Map<string, TaskRecord> {
    const found = new Map<string, TaskRecord>();
    for (const [prefix, { begun, named }] of this.#matches) {
      const matches = begun.size > 0 ? begun : named;
      const [record, ...others] = matches.values();
      if (others.length > 0) throw ambiguous(prefix, begun.size > 0, [...matches.keys()]);
      if (record) found.set(prefix, record);
    }
    return found;
  }
}

const MOST_NAMED = 3;

/** @param areBegun whether the ids begin so; else the names of their images have it */
function ambiguous(prefix: string, areBegun: boolean, ids: readonly string[]): UsageError {
  const text = JSON.stringify(prefix);
  const what = areBegun ? `task ids begin with ${text}` : `tasks have ${text} in the names of their images`;
  const named = ids.slice(0, MOST_NAMED).join(", ");
  const more = ids.length > MOST_NAMED ? `, and ${ids.length - MOST_NAMED} more` : "";
  return new UsageError(`${ids.length} ${what}: ${named}${more}.`, {
    hint: "Give more of the id.",
  });
}
