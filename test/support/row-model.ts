import type { Line } from "../../src/task/line.ts";
import { type TaskState, taskFromIntent, withLine } from "../../src/task/task.ts";
import { LINES, WORK } from "./records.ts";

export type RowBug = "no look at the claim" | "a look by the batch alone";

type Step =
  | "claim"
  | "find"
  | "begin"
  | "look for done"
  | "take"
  | "read"
  | "look"
  | "mark"
  | "look before"
  | "start"
  | "look again"
  | "submit"
  | "record"
  | "note end"
  | "move"
  | "ended";

interface Process {
  step: Step;
  isSeen: boolean;
  isBatch: boolean;
  /** Number of the file that it writes a part of, and of its part; -1 for none. */
  file: number;
  part: number;
}

interface World {
  claim: "none" | "claimed" | "begun" | "ended";
  /** Files that the task has had under its id; the last one may be open or done. */
  files: { folder: "open" | "done" | "none"; owners: number[]; lines: string }[];
  submits: number;
  isPruned: boolean;
  processes: Process[];
}

const STATES = new Map<string, TaskState>();

/** The state that the real reducer makes of lines, each a letter and the number of its process. */
function stateOf(lines: string): TaskState {
  const known = STATES.get(lines);
  if (known !== undefined) return known;
  const types = { s: LINES.started, w: LINES.waiting, a: LINES.accepted };
  const all = lines.match(/../g) ?? [];
  const begun = taskFromIntent("x", { ...LINES.intent, ...WORK, claim: "ab/cd-1.1" });
  const lineOf = ([type, attempt]: string) => ({ ...types[type as keyof typeof types], attempt }) as Line;
  const { state } = all.map(lineOf).reduce(withLine, begun);
  STATES.set(lines, state);
  return state;
}

/**
 * Explores every interleaving of two batches and a `resume` at one row, each of which may be stopped for any time or killed at any
 * step, while the user may remove the finished tasks. @param bug planted into it @returns the world in which it was paid twice
 */
export function exploreRow(bug: RowBug | null): { failure: string | null; states: number } {
  const seen = new Set<string>();
  const process = { isSeen: true, file: -1, part: -1 };
  const open: World[] = [
    {
      claim: "none",
      files: [],
      submits: 0,
      isPruned: false,
      processes: [
        { ...process, step: "claim", isBatch: true },
        { ...process, step: "claim", isBatch: true },
        { ...process, step: "take", isBatch: false },
      ],
    },
  ];
  for (let world = open.pop(); world; world = open.pop()) {
    const key = JSON.stringify(world);
    if (seen.has(key)) continue;
    seen.add(key);
    if (world.submits > 1) return { failure: key, states: seen.size };
    for (const next of nextWorlds(world, bug)) open.push(next);
  }
  return { failure: null, states: seen.size };
}

function* nextWorlds(world: World, bug: RowBug | null): Generator<World> {
  if (!world.isPruned && world.files.at(-1)?.folder === "done") {
    const pruned = structuredClone(world);
    pruned.isPruned = true;
    for (const file of pruned.files) if (file.folder === "done") file.folder = "none";
    yield pruned;
  }
  for (const [index, { step, isSeen }] of world.processes.entries()) {
    if (step === "ended") continue;
    const changed = (change: (own: Process, world: World) => void) => {
      const copy = structuredClone(world);
      change(copy.processes[index] as Process, copy);
      return copy;
    };
    yield changed((own) => Object.assign(own, { step: "ended", isSeen: false }));
    if (isSeen) yield changed((own) => Object.assign(own, { isSeen: false }));
    yield changed((own, at) => {
      own.step = stepOf(own, index, at, bug);
      if (own.step === "ended") own.isSeen = false;
    });
  }
}

/** Makes one step. @returns the next one */
function stepOf(own: Process, index: number, world: World, bug: RowBug | null): Step {
  const { files, processes } = world;
  const open = files.find(({ folder }) => folder === "open");
  const isDone = files.some(({ folder }) => folder === "done");
  const file = files[own.file];
  const isLast = file !== undefined && file.folder === "open" && own.part === file.owners.length - 1;
  const write = (type: string) => {
    if (file) file.lines += `${type}${index}`;
  };
  switch (own.step) {
    case "claim":
      if (world.claim === "none") world.claim = "claimed";
      return "find";
    case "find":
      if (open) return "take";
      return isDone || world.claim !== "claimed" ? "ended" : "begin";
    case "begin":
      if (open) return "find";
      if (isDone) return "ended";
      Object.assign(own, { file: files.length, part: 0 });
      files.push({ folder: "open", owners: [index], lines: "" });
      return "look for done";
    case "look for done":
      if (!isDone) return "look";
      if (file) file.folder = "none";
      return "ended";
    case "take": {
      if (!open) return own.isBatch || files.length > 0 ? "ended" : "take";
      const holder = open.owners.at(-1) ?? 0;
      const isLeft = isDone && open.lines === "";
      if (isLeft || processes[holder]?.isSeen) return "ended";
      Object.assign(own, { file: files.indexOf(open), part: open.owners.length });
      open.owners.push(index);
      return "read";
    }
    case "read": {
      if (!isLast) return "ended";
      const state = stateOf(file.lines);
      return state === "waiting" ? "look" : state === "accepted" ? "note end" : "ended";
    }
    case "look": {
      const looks = bug === null || (bug === "a look by the batch alone" && own.isBatch);
      return looks && world.claim === "ended" ? "ended" : "mark";
    }
    case "mark":
      if (world.claim === "claimed") world.claim = "begun";
      return "look before";
    case "look before":
      return isLast ? "start" : "ended";
    case "start":
      write("s");
      return "look again";
    case "look again":
      if (!isLast) write("w");
      return isLast ? "submit" : "ended";
    case "submit":
      world.submits += 1;
      return "record";
    case "record":
      write("a");
      return isLast ? "note end" : "ended";
    case "note end":
      world.claim = "ended";
      return "move";
    case "move":
      if (isLast) file.folder = "done";
      return "ended";
    case "ended":
      return "ended";
  }
}
