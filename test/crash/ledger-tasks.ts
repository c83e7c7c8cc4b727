import { readFileSync } from "node:fs";
import path from "node:path";
import { filesBelow } from "./disk.ts";
import type { CrashWorld } from "./world.ts";

/** What the whole lines of a task's parts say. */
export interface LedgerTask {
  id: string;
  /** Its first part. */
  file: string;
  /** Type of the line that decides; `stub` where not even the intent is whole. */
  last: string;
  /** The provider's names for its jobs, as far as they are known. */
  ids: string[];
  /** What was asked for; null in a stub. */
  prompt: string | null;
  /** imggen's own name for it; null where the provider's is shown. */
  ownId: string | null;
  /** State of each of its requests. */
  states: string[];
  /** How many lines say that it was saved. */
  saves: number;
}

interface TaskLine {
  type: string;
  attempt?: string;
  unusable?: boolean;
  request?: number | { prompt: string };
  taskId?: string | null;
  requests?: number;
  isPaid?: boolean;
}

/** The parts of a task: `<id>.jsonl`, with tags once it is finished, and `<id>.2.jsonl` and so on. */
const PART = /^(\d{8}T\d{9}-[0-9a-f]{8})(?:\.(\d{1,4}))?(?:\.[a-z][0-9a-f]+)*\.jsonl$/;

/** Every task of the ledger, wherever its parts lie. Read by hand: the program's own reader is on trial. */
export function ledgerTasks({ home }: CrashWorld): LedgerTask[] {
  const parts = new Map<string, { file: string; part: number }[]>();
  for (const file of filesBelow(home)) {
    const [, id, part = "1"] = PART.exec(path.basename(file)) ?? [];
    if (id !== undefined) parts.set(id, [...(parts.get(id) ?? []), { file, part: Number(part) }]);
  }
  return [...parts].map(([id, found]) => {
    const inOrder = found.toSorted((one, other) => one.part - other.part);
    const contents = inOrder.map(({ file }) => readFileSync(path.join(home, file), "utf8"));
    const lines = contents.flatMap((text) => text.split("\n").slice(0, -1).flatMap(parseLine));
    return { id, file: inOrder[0]?.file ?? id, ...factsOf(lines) };
  });
}

function factsOf(lines: readonly TaskLine[]): Omit<LedgerTask, "id" | "file"> {
  const intent = lines.find(({ type }) => type === "intent");
  const steps = lines.filter(({ type }) => type !== "taken" && type !== "released");
  const saves = steps.filter(({ type }) => type === "saved").length;
  const isPaid = intent?.isPaid ?? true;
  const isDismissed = steps.some(({ type }) => type === "dismissed");
  const states = Array.from({ length: intent?.requests ?? 1 }, (_, request) => {
    if (intent === undefined) return "stub";
    const state = stateOf(steps, request, isPaid);
    return isDismissed && (state === "unknown" || state === "started") ? "dismissed" : state;
  });
  return {
    last: saves > 0 ? "saved" : lastOf(steps),
    states,
    ids: lines.flatMap(({ type, taskId }) => (type === "accepted" && taskId ? [taskId] : [])),
    prompt: typeof intent?.request === "object" ? intent.request.prompt : null,
    ownId: intent?.taskId ?? null,
    saves,
  };
}

function lastOf(steps: readonly TaskLine[]): string {
  const last = steps.at(-1);
  if (last === undefined) return "stub";
  if (last.type === "intent") return last.attempt === undefined ? "waiting" : "started";
  // What its other requests came to may stand after that.
  const isPartlySaved = last.type !== "dismissed" && steps.some(({ type }) => type === "partly_saved");
  return isPartlySaved ? "partly_saved" : last.type;
}

/** Which answer to an attempt counts: the first of these that there is. */
const ANSWERS = ["completed", "accepted", "failed", "refused", "waiting", "unknown"];

/** State of one request of a task, from the attempts at it and the answers to each. */
function stateOf(steps: readonly TaskLine[], request: number, isPaid: boolean): string {
  const own = steps.filter(({ type, attempt, request: of }) =>
    type === "intent" ? attempt !== undefined && request === 0 : of === request,
  );
  const attempts = new Map<string, string>();
  for (const { type, attempt, unusable } of own) {
    if (attempt === undefined) continue;
    const before = attempts.get(attempt) ?? "started";
    const isAnswer = type !== "intent" && type !== "started";
    // That it was lost is the word of a process that did not wait for it.
    const isLate = type === "unknown" && before === "completed" && unusable !== true;
    attempts.set(attempt, isAnswer && !isLate ? afterAnswer(before, type) : before);
  }
  const all = [...attempts.values()];
  const has = (state: string) => all.includes(state);
  const decided = ["completed", "accepted", "started", "failed"].find(has);
  if (decided !== undefined) return decided;
  if (has("unknown") && isPaid) return "unknown";
  if (has("refused")) return "refused";
  return own.some(({ type }) => type === "not_sent") ? "not_sent" : "waiting";
}

/** State of an attempt after one more answer. What was made may turn out to be no image. */
function afterAnswer(before: string, answer: string): string {
  if (before === "started") return answer;
  if (before === "completed") return answer === "failed" || answer === "unknown" ? answer : before;
  // A failed one may be asked for again.
  if (before === "accepted" && answer === "failed") return answer;
  return ANSWERS.indexOf(answer) <= ANSWERS.indexOf(before) ? answer : before;
}

function parseLine(line: string): TaskLine[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
