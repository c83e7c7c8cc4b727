import type { Line } from "../../src/task/line.ts";
import { type TaskState, taskFromIntent, withLine } from "../../src/task/task.ts";
import { LINES, WORK } from "./records.ts";

export type TaskBug =
  | "no look after started"
  | "no reading after taking"
  | "started counts in the last part alone"
  | "a late answer is not recorded"
  | "a late waiting undoes attempts"
  | "a late answer does not reopen"
  | "no reading after the end"
  | "withdrawn without a line";

const PROCESSES = 3;
const MAX_ATTEMPTS = 2;
const REPLIES = ["waiting", "accepted", "unknown"] as const;

/** A line of the model: its type, and the attempt that it is about, if it is about one. */
type ShortLine = readonly [type: Line["type"], attempt?: string];

interface Part {
  owner: number;
  lines: ShortLine[];
}

type Step =
  | "idle"
  | "take"
  | "read"
  | "decide"
  | "start"
  | "look again"
  | "submit"
  | "record"
  | "after"
  | "end"
  | "withdraw"
  | "discard"
  | "move"
  | "check"
  | "reopen"
  | "ended"
  | "killed";

interface Process {
  step: Step;
  /** Whether its ticket counts: not after it was stopped for long, or killed. */
  isSeen: boolean;
  /** Index of its part; -1 for none. */
  part: number;
  state: TaskState;
  attempts: number;
  attempt: string;
  reply: Line["type"];
  /** Whether it was killed between the move of a task and its last look. */
  hasNotLooked: boolean;
}

interface World {
  parts: Part[];
  /** Where the first part is. */
  folder: "open" | "done" | "none";
  /** Number of parts in the name of the finished task. */
  named: number;
  submits: { attempt: string; by: number; reply: Line["type"] }[];
  processes: Process[];
}

interface Explored {
  failure: string | null;
  states: number;
}

/** Explores every interleaving of the protocol. @param bug planted into it @returns what was paid twice or lost, if anything */
export function exploreTask(bug: TaskBug | null): Explored {
  const model = new TaskModel(bug);
  const seen = new Set<string>();
  const open: World[] = [begin()];
  // In the order in which they are found: a bug shows after few steps.
  for (let at = 0, world = open[0]; world; world = open[++at]) {
    const key = keyOf(world);
    if (seen.has(key)) continue;
    seen.add(key);
    const why = model.failureOf(world);
    if (why !== null) return { failure: `${why}: ${JSON.stringify(world)}`, states: seen.size };
    model.each(world, (next) => open.push(next));
  }
  return { failure: null, states: seen.size };
}

const IDLE: Process = {
  step: "idle",
  isSeen: true,
  part: -1,
  state: "waiting",
  attempts: 0,
  attempt: "",
  reply: "waiting",
  hasNotLooked: false,
};

function begin(): World {
  const first: Process = { ...IDLE, step: "decide", part: 0 };
  return {
    parts: [{ owner: 0, lines: [] }],
    folder: "open",
    named: 0,
    submits: [],
    processes: [first, ...Array.from({ length: PROCESSES - 1 }, () => ({ ...IDLE }))],
  };
}

function copyOf({ parts, submits, processes, ...rest }: World): World {
  return {
    ...rest,
    parts: parts.map((part) => ({ ...part, lines: [...part.lines] })),
    submits: [...submits],
    processes: processes.map((process) => ({ ...process })),
  };
}

/** A process that has ended has released what it had, and its memory is gone. */
function atRest(process: Process): Process {
  const { step, hasNotLooked } = process;
  return step === "ended" || step === "killed" ? { ...IDLE, step, hasNotLooked, isSeen: false } : process;
}

/** The same text for worlds that differ in the numbers of processes alone, of those that have not begun the task. */
function keyOf(world: World): string {
  const [key, swapped] = [textOf(world, [0, 1, 2]), textOf(world, [0, 2, 1])];
  if (key < swapped) return key;
  return swapped;
}

/** @param order the number of each process in the text */
function textOf({ folder, named, parts, submits, processes }: World, order: readonly number[]): string {
  let text = `${folder}${named}`;
  for (const { owner, lines } of parts) text += `|${order[owner]} ${lines.join()}`;
  for (const { attempt, by, reply } of submits) text += `/${order[by]}${attempt}${reply}`;
  for (const at of order) text += `;${Object.values(processes[at] as Process).join()}`;
  return text;
}

/** Whether the provider has answered 429 as often as it does. */
function isBusyOnce({ submits }: World): boolean {
  return submits.some(({ reply }) => reply === "waiting");
}

class TaskModel {
  readonly #bug: TaskBug | null;
  readonly #states = new Map<string, TaskState>();

  constructor(bug: TaskBug | null) {
    this.#bug = bug;
  }

  /** Calls back with each world that one step of one process leads to. */
  each(world: World, onNext: (next: World) => void): void {
    for (const [index, { step, isSeen, part }] of world.processes.entries()) {
      if (step === "ended" || step === "killed") continue;
      const next = (change: (own: Process, world: World) => void) => {
        const copy = copyOf(world);
        change(copy.processes[index] as Process, copy);
        copy.processes[index] = atRest(copy.processes[index] as Process);
        onNext(copy);
      };
      const hasPart = step !== "idle" && step !== "take";
      if (hasPart)
        next((own) => {
          own.hasNotLooked = step === "check" || step === "reopen";
          own.step = "killed";
        });
      // Whether others see a process matters while it has the last part.
      if (hasPart && isSeen && part === world.parts.length - 1)
        next((own) => {
          own.isSeen = false;
        });
      this.#step(world, index, step, next);
    }
  }

  #step(
    world: World,
    index: number,
    step: Step,
    next: (change: (own: Process, world: World) => void) => void,
  ): void {
    const { part, state } = world.processes[index] as Process;
    const isLast = this.#isLast(world, part);
    const write = (own: Process, { parts }: World, ...line: ShortLine) =>
      void parts[own.part]?.lines.push(line);
    switch (step) {
      case "idle": {
        const read = this.#readOpen(world);
        if (read === null || world.processes[read.last.owner]?.isSeen) break;
        next((own) => Object.assign(own, { step: "take", part: read.count, state: read.state }));
        break;
      }
      case "take":
        next((own, { parts }) => {
          if (part < parts.length) own.step = "ended";
          else {
            parts.push({ owner: index, lines: [] });
            own.step = "read";
          }
        });
        break;
      case "read": {
        const read = this.#readOpen(world);
        next((own) => {
          own.step = "decide";
          if (this.#bug === "no reading after taking") return;
          if (read?.count === part + 1) own.state = read.state;
          else own.step = "ended";
        });
        break;
      }
      case "decide":
        this.#decide(world, index, state, isLast, next, write);
        break;
      case "start":
        next((own, at) => {
          own.attempt = `${own.part + 1}.${own.attempts}`;
          own.attempts += 1;
          write(own, at, "started", own.attempt);
          own.step = this.#bug === "no look after started" ? "submit" : "look again";
        });
        break;
      case "look again":
        next((own, at) => {
          if (!isLast) write(own, at, "waiting", own.attempt);
          own.step = isLast ? "submit" : "ended";
        });
        break;
      case "submit":
        for (const reply of isBusyOnce(world) ? REPLIES.slice(1) : REPLIES)
          next((own, { submits }) => {
            submits.push({ attempt: own.attempt, by: index, reply });
            Object.assign(own, { reply, step: "record" });
          });
        break;
      case "record":
        next((own, at) => {
          const isRecorded = isLast || this.#bug !== "a late answer is not recorded";
          if (isRecorded) write(own, at, own.reply, own.attempt);
          own.step = "after";
        });
        break;
      case "after": {
        const { reply } = world.processes[index] as Process;
        // It looks whether the task is finished first, and then whether it has it still.
        const found = world.folder === "done" ? this.#found(world) : null;
        const mayReopen =
          (found === "accepted" || found === "completed") && this.#bug !== "a late answer does not reopen";
        next((own) => {
          if (mayReopen) own.step = "reopen";
          else if (isLast) Object.assign(own, { state: reply, step: "decide" });
          else own.step = "ended";
        });
        break;
      }
      case "end":
        next((own) => (own.step = isLast ? "move" : "ended"));
        break;
      case "withdraw":
        next((own) => (own.step = isLast ? "discard" : "ended"));
        break;
      case "discard":
        next((own, at) => {
          if (at.folder === "open") at.folder = "none";
          own.step = "ended";
        });
        break;
      case "move":
        next((own, at) => {
          if (at.folder === "open") Object.assign(at, { folder: "done", named: part + 1 });
          own.step = part > 0 && this.#bug !== "no reading after the end" ? "check" : "ended";
        });
        break;
      case "check": {
        const found = world.folder === "done" ? this.#found(world) : null;
        next((own) => (own.step = found === "accepted" || found === "completed" ? "reopen" : "ended"));
        break;
      }
      case "reopen":
        next((own, at) => {
          if (at.folder === "done") at.folder = "open";
          own.step = "ended";
        });
        break;
    }
  }

  /** What a process does with a task that it has read, or has an answer for. */
  #decide(
    world: World,
    index: number,
    state: TaskState,
    isLast: boolean,
    next: (change: (own: Process, world: World) => void) => void,
    write: (own: Process, world: World, ...line: ShortLine) => void,
  ): void {
    const { part, attempts } = world.processes[index] as Process;
    switch (state) {
      case "waiting":
        if (attempts < MAX_ATTEMPTS) next((own) => (own.step = isLast ? "start" : "ended"));
        // It is closed without a request; by the process that began it, it may be withdrawn.
        next((own, at) => {
          write(own, at, "not_sent");
          own.step = "end";
        });
        if (part === 0 && attempts === 0)
          next((own, at) => {
            if (this.#bug !== "withdrawn without a line") write(own, at, "not_sent");
            own.step = "withdraw";
          });
        break;
      case "started":
      case "unknown":
        // Left as it is; or dismissed by the user.
        next((own, at) => {
          if (state === "started") write(own, at, "unknown", this.#openAttempt(at));
          own.step = "ended";
        });
        next((own, at) => {
          if (state === "started") write(own, at, "unknown", this.#openAttempt(at));
          write(own, at, "dismissed");
          own.step = "end";
        });
        break;
      case "accepted":
      case "completed":
        next((own, at) => {
          write(own, at, "completed", this.#acceptedAttempt(at));
          write(own, at, "saved");
          own.step = "end";
        });
        break;
      default:
        next((own) => (own.step = "end"));
    }
  }

  #openAttempt({ parts }: World): string {
    const lines = parts.flatMap((part) => part.lines);
    const open = lines.filter(
      ([type, name]) =>
        type === "started" && !lines.some(([other, of]) => other !== "started" && of === name),
    );
    return open.at(-1)?.[1] ?? "";
  }

  #acceptedAttempt({ parts }: World): string {
    return parts.flatMap(({ lines }) => lines).findLast(([type]) => type === "accepted")?.[1] ?? "";
  }

  /** The task as a process reads it among the unfinished; null if it is not there. */
  #readOpen({ parts, folder }: World) {
    if (folder !== "open") return null;
    return { count: parts.length, last: parts.at(-1) as Part, state: this.#stateOf(parts) };
  }

  /** Whether a process has the last part of an unfinished task. */
  #isLast({ parts, folder }: World, part: number): boolean {
    return folder === "open" && part === parts.length - 1;
  }

  /** The task's state, as any process finds it at last. */
  #found(world: World): TaskState | null {
    const { parts, folder, named } = world;
    if (folder === "none") return null;
    return folder === "open" ? (this.#readOpen(world)?.state ?? null) : this.#stateOf(parts.slice(0, named));
  }

  /** The state that the real reducer makes of parts. */
  #stateOf(parts: readonly Part[]): TaskState {
    const lines = parts.map((part) => part.lines);
    const key = lines.join("|");
    const known =
      this.#states.get(key) ??
      stateOf(
        lines.map((each, at) => this.#spoilt(each, at === lines.length - 1)),
        this.#bug,
      );
    this.#states.set(key, known);
    return known;
  }

  #spoilt(lines: readonly ShortLine[], isLast: boolean): readonly ShortLine[] {
    if (this.#bug !== "started counts in the last part alone" || isLast) return lines;
    const isAnswered = (name?: string) => lines.some(([type, of]) => type !== "started" && of === name);
    return lines.filter(([type, name]) => type !== "started" || isAnswered(name));
  }

  /** What was paid twice or lost; null for nothing. */
  failureOf(world: World): string | null {
    const { submits, processes } = world;
    const open = submits.filter(({ reply }) => reply !== "waiting");
    if (open.length > 1 || (open.length === 1 && submits.at(-1) !== open[0]))
      return "a request was sent although an earlier one may have been paid";
    const isBusy = processes.some(({ step }) => step !== "ended" && step !== "killed" && step !== "idle");
    const [paid] = open;
    if (isBusy || paid === undefined) return null;
    const found = this.#found(world);
    if (found === null || found === "waiting" || found === "not_sent" || found === "refused")
      return `something may have been paid, and the ledger says ${found}`;
    if (paid.reply !== "accepted" || processes[paid.by]?.step !== "ended") return null;
    if (found !== "accepted" && found !== "completed" && found !== "saved")
      return `the id has arrived, and the ledger says ${found}`;
    const isKnown =
      found === "saved" || world.folder === "open" || processes.some((each) => each.hasNotLooked);
    return isKnown ? null : "what was paid is filed under the finished ones without its image";
  }
}

function stateOf(parts: readonly (readonly ShortLine[])[], bug: TaskBug | null): TaskState {
  const begun = taskFromIntent("x", { ...LINES.intent, ...WORK });
  let lines = parts.flatMap((part, at) => [...(at === 0 ? [] : [["taken"] as const]), ...part]);
  if (bug === "a late waiting undoes attempts" && lines.some(([type]) => type === "waiting")) {
    const isAnswered = (name?: string) => lines.some(([type, of]) => type !== "started" && of === name);
    lines = lines.filter(([type, name]) => type !== "started" || isAnswered(name));
  }
  return lines.map(lineOf).reduce(withLine, begun).state;
}

function lineOf([type, attempt]: ShortLine): Line {
  return { ...LINES[type], ...(attempt !== undefined && { attempt }) } as Line;
}
