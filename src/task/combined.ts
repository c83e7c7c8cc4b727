import { isJsonObject } from "../lib/json.ts";
import { type AcceptedState, NEVER_SEEN, type StateName, type TaskState, type Usage } from "./lifecycle.ts";

/** What decides where a task of several requests stands, the most pressing first. */
const ORDER: readonly StateName[] = [
  "started",
  "accepted",
  "waiting",
  "completed",
  "unknown",
  "dismissed",
  "failed",
];

/** The state of a task from those of its requests. @param taskId our own id of it */
export function combined(requests: readonly TaskState[], taskId: string): TaskState {
  const [first] = requests;
  if (first === undefined) throw new TypeError("a task of no requests");
  const leading = ORDER.find((name) => requests.some((state) => state.name === name));
  const state = requests.find(({ name }) => name === leading) ?? first;
  if (state.name === "completed")
    return allMade(
      requests.filter((each) => each.name === "completed"),
      taskId,
    );
  return underOwnId(state, taskId);
}

/** A request's state as its task's state, under our own id: the provider's may differ. */
export function underOwnId(state: TaskState, taskId: string): TaskState {
  return "taskId" in state ? { ...state, taskId } : state;
}

/** Those that were made, once no other request is to be waited for. */
function allMade(made: readonly Extract<AcceptedState, { name: "completed" }>[], taskId: string): TaskState {
  const last = made.reduce((a, b) => (a.completedAt > b.completedAt ? a : b));
  const usage = addUsage(made.map(({ usage }) => usage).filter((usage) => usage !== undefined));
  return {
    name: "completed",
    taskId,
    acceptedAt: made.reduce((a, b) => (a.acceptedAt < b.acceptedAt ? a : b)).acceptedAt,
    completedAt: last.completedAt,
    urls: made.flatMap(({ urls }) => urls),
    observed: NEVER_SEEN,
    ...(usage && { usage }),
    partlySaved: [],
  };
}

/** What several requests took together: numbers are added up, and what is no number is kept from the first that has it. */
function addUsage(usages: readonly Usage[]): Usage | null {
  return usages.length === 0 ? null : usages.reduce(add);
}

function add(sum: Usage, usage: Usage): Usage {
  const names = new Set([...Object.keys(sum), ...Object.keys(usage)]);
  return Object.fromEntries([...names].map((name) => [name, addValue(sum[name], usage[name])]));
}

function addValue(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (isJsonObject(a) && isJsonObject(b)) return add(a, b);
  return a ?? b;
}
