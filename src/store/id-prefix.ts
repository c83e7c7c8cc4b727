import { UsageError } from "../lib/errors.ts";
import type { TaskRecord } from "../task/record.ts";
import { isId } from "./ledger-name.ts";

/** Shorter beginnings would often fit tasks that were not meant. */
const SHORTEST = 6;

/** Whether a text may be the beginning of a task's id, and is not a whole one of the ledger's own. */
export function mayBePrefix(text: string): boolean {
  return text.length >= SHORTEST && !isId(text);
}

/** Finds tasks by the beginnings of their ids, the service's or the ledger's own. */
export class IdPrefixes {
  /** Of each prefix, the newest task with each id that begins so. */
  readonly #matches: Map<string, Map<string, TaskRecord>>;

  constructor(prefixes: Iterable<string>) {
    this.#matches = new Map(Array.from(prefixes, (prefix) => [prefix, new Map()]));
  }

  get isEmpty(): boolean {
    return this.#matches.size === 0;
  }

  /** Takes note of a task. Newer ones come first. */
  note(record: TaskRecord): void {
    const { id, state } = record;
    const ids = "taskId" in state ? [id, state.taskId] : [id];
    for (const [prefix, matches] of this.#matches) {
      const match = ids.find((each) => each.startsWith(prefix));
      if (match !== undefined && !matches.has(match)) matches.set(match, record);
    }
  }

  /** The task of each prefix that fits one. @throws UsageError if one fits several */
  found(): Map<string, TaskRecord> {
    const found = new Map<string, TaskRecord>();
    for (const [prefix, matches] of this.#matches) {
      const [record, ...others] = matches.values();
      if (others.length > 0) throw ambiguous(prefix, [...matches.keys()]);
      if (record) found.set(prefix, record);
    }
    return found;
  }
}

const MOST_NAMED = 3;

function ambiguous(prefix: string, ids: readonly string[]): UsageError {
  const named = ids.slice(0, MOST_NAMED).join(", ");
  const more = ids.length > MOST_NAMED ? `, and ${ids.length - MOST_NAMED} more` : "";
  return new UsageError(`${ids.length} task ids begin with ${JSON.stringify(prefix)}: ${named}${more}.`, {
    hint: "Give more of the id.",
  });
}
