import { UsageError } from "../lib/error-types.ts";
import { shortTaskId } from "../lib/short-task-id.ts";
import { joinFirst } from "../lib/short-text.ts";
import { getTaskId, type Task } from "../task/task.ts";
import { isId } from "./ledger-name.ts";

/** A shorter prefix would often match another task. */
const MIN_LENGTH = 6;

/** Prefix of most ids of the service, which users often omit. */
const SERVICE_PREFIX = "task_";

export function mayBePrefix(text: string): boolean {
  return text !== "" && !isId(text);
}

/** Finds tasks by a prefix of the service's or the ledger's id, or by the short id, each with or without `task_`. */
export class IdPrefixes {
  readonly #matches: Map<string, Map<string, Task>>;

  constructor(texts: Iterable<string>) {
    this.#matches = new Map(Array.from(texts, (text) => [text, new Map()]));
  }

  get isEmpty(): boolean {
    return this.#matches.size === 0;
  }

  /** Newer tasks must be added first. */
  add(task: Task): void {
    const { id } = task;
    const taskId = getTaskId(task);
    const ids = taskId === null ? [id] : [id, taskId];
    const short = shortTaskId(ids.at(-1) ?? id);
    for (const [text, matches] of this.#matches) {
      const match =
        withoutServicePrefix(text) === short ? ids.at(-1) : ids.find((each) => matchesPrefix(each, text));
      if (match !== undefined && !matches.has(match)) matches.set(match, task);
    }
  }

  /** @throws UsageError if a text matches several tasks */
  resolve(): Map<string, Task> {
    const tasks = new Map<string, Task>();
    for (const [text, matches] of this.#matches) {
      const [task, ...others] = matches.values();
      if (others.length > 0) throw ambiguousPrefix(text, [...matches.keys()]);
      if (task) tasks.set(text, task);
    }
    return tasks;
  }
}

/** A prefix must end before the sequential number of an id, because `task_1` is not `task_10`. */
const SEQUENCE_NUMBER = /(?<![A-Za-z0-9])\d{1,6}$/;

function matchesPrefix(id: string, text: string): boolean {
  const start = [text, SERVICE_PREFIX + text].find((each) => id.startsWith(each));
  if (text.length < MIN_LENGTH || start === undefined) return false;
  return start === id || start.length <= (SEQUENCE_NUMBER.exec(id)?.index ?? id.length);
}

function withoutServicePrefix(text: string): string {
  return text.startsWith(SERVICE_PREFIX) ? text.slice(SERVICE_PREFIX.length) : text;
}

const MAX_LISTED = 3;

function ambiguousPrefix(text: string, ids: readonly string[]): UsageError {
  const message = `${ids.length} tasks match ${JSON.stringify(text)}: ${joinFirst(ids, MAX_LISTED)}.`;
  return new UsageError(message, { hint: "Enter more characters of the id." });
}
