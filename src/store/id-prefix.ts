import { UsageError } from "../lib/error-types.ts";
import { shortTaskId } from "../lib/short-task-id.ts";
import { joinFirst } from "../lib/short-text.ts";
import { type Task, taskIdOf } from "../task/task.ts";
import { isId } from "./ledger-name.ts";

/** Shorter beginnings would often fit tasks that were not meant. */
const SHORTEST = 6;

/** What ids of the service often begin with, and users leave out. */
const MARK = "task_";

/** Whether a text may stand for a task's id, and is not a whole one of the ledger's own. */
export function mayStandForId(text: string): boolean {
  return text !== "" && !isId(text);
}

/**
 * Finds tasks by the beginnings of their ids, the service's or the ledger's own, or by their short ids: both with or
 * without `task_`.
 */
export class IdPrefixes {
  /** The newest task of each id that a text fits, by the text. */
  readonly #matches: Map<string, Map<string, Task>>;

  constructor(texts: Iterable<string>) {
    this.#matches = new Map(Array.from(texts, (text) => [text, new Map()]));
  }

  get isEmpty(): boolean {
    return this.#matches.size === 0;
  }

  /** Takes note of a task. Newer ones come first. */
  note(record: Task): void {
    const { id } = record;
    const taskId = taskIdOf(record);
    const ids = taskId === null ? [id] : [id, taskId];
    // A task that the service has is shown by the service's id alone.
    const short = shortTaskId(ids.at(-1) ?? id);
    for (const [text, matches] of this.#matches) {
      const match = withoutMark(text) === short ? ids.at(-1) : ids.find((each) => begins(each, text));
      if (match !== undefined && !matches.has(match)) matches.set(match, record);
    }
  }

  /** The task of each text that fits one. @throws UsageError if one fits several */
  found(): Map<string, Task> {
    const found = new Map<string, Task>();
    for (const [text, matches] of this.#matches) {
      const [record, ...others] = matches.values();
      if (others.length > 0) throw ambiguous(text, [...matches.keys()]);
      if (record) found.set(text, record);
    }
    return found;
  }
}

/** A number that only counts tasks: `task_1` is one of its own then, and no beginning of `task_10`. */
const COUNT = /(?<![A-Za-z0-9])\d{1,6}$/;

function begins(id: string, text: string): boolean {
  const start = [text, MARK + text].find((each) => id.startsWith(each));
  if (text.length < SHORTEST || start === undefined) return false;
  return start === id || start.length <= (COUNT.exec(id)?.index ?? id.length);
}

function withoutMark(text: string): string {
  return text.startsWith(MARK) ? text.slice(MARK.length) : text;
}

const MAX_NAMED = 3;

function ambiguous(text: string, ids: readonly string[]): UsageError {
  const message = `${ids.length} tasks fit ${JSON.stringify(text)}: ${joinFirst(ids, MAX_NAMED)}.`;
  return new UsageError(message, { hint: "Give more of the id." });
}
