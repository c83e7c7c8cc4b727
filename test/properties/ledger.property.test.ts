import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { formatLine, TaskFile } from "../../src/store/task-file.ts";
import { readTaskLines } from "../../src/store/task-lines.ts";
import { advance } from "../../src/task/advance.ts";
import type { TaskEvent, TaskState } from "../../src/task/task.ts";
import { chargedOf, spentCredits, type Task, taskIdOf } from "../../src/task/task.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds, holdsInTime } from "../support/holds.ts";
import { AT, EVENTS, recordOf, UNTIL, WORK } from "../support/records.ts";
import { requests } from "../support/requests.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const text = fc.string({ unit: anyCharacter, maxLength: 8 });
const intent = requests(text).map((request): TaskEvent => ({ ...EVENTS.intent, request }));
const file = fc.record({
  path: fc.option(text),
  url: fc.option(text),
  mediaType: text,
  bytes: fc.nat(),
  sha256: text,
  width: fc.nat(),
  height: fc.nat(),
});
const later: fc.Arbitrary<TaskEvent> = fc.oneof(
  text.map((why): TaskEvent => ({ ...EVENTS.rate_limited, why })),
  text.map((until): TaskEvent => ({ type: "submitting", at: AT, until })),
  text.map((why): TaskEvent => ({ type: "not_sent", at: AT, why })),
  text.map((why): TaskEvent => ({ type: "unknown", at: AT, why })),
  text.map((excerpt): TaskEvent => ({ type: "unknown", at: AT, why: "nonsense", excerpt })),
  text.map((key): TaskEvent => ({ ...EVENTS.refused, error: { ...EVENTS.refused.error, key } })),
  text.map((taskId): TaskEvent => ({ type: "accepted", at: AT, taskId })),
  // The service's completed tasks have a URL at least.
  fc.array(text, { minLength: 1, maxLength: 2 }).map((urls): TaskEvent => ({ ...EVENTS.completed, urls })),
  text.map((errorCode): TaskEvent => ({ type: "failed", at: AT, errorCode })),
  fc.array(file, { maxLength: 1 }).map((files): TaskEvent => ({ type: "saved", at: AT, files })),
);
/** What a provider has made is on this disk. */
const MADE: TaskEvent = { ...EVENTS.completed, urls: [] };

/** The line that a task began with. */
function firstOf({ intent }: Task): TaskEvent {
  return { ...EVENTS.intent, ...intent };
}

const events = fc.array(later, { maxLength: 4 });

const BEGINNING: TaskState = { name: "intent", until: UNTIL };

/** How far these bytes say that the task has come; null if they are no task. */
function stateOf(bytes: Buffer): TaskState | null {
  const read = readTaskLines("x", bytes.toString("utf8"));
  return read.kind === "task" ? read.record.state : null;
}

/** The events' lines, each as bytes. */
function linesOf(all: readonly TaskEvent[]): Buffer[] {
  return all.map((event) => Buffer.from(formatLine(event)));
}

it("what was written is read again, whatever text is in it", () => {
  holds(
    fc.property(intent, events, (first, rest) => {
      const read = readTaskLines("x", Buffer.concat(linesOf([first, ...rest])).toString("utf8"));
      const {
        type: _type,
        v: _v,
        at: submittedAt,
        until: _until,
        owner,
        ...facts
      } = first as typeof EVENTS.intent;
      const state = rest.reduce(advance, BEGINNING);
      expect(read).toEqual({
        kind: "task",
        record: { id: "x", intent: facts, owner, submittedAt, state, requests: [state], ofAll: [] },
      });
    }),
  );
});

it("cut off at any byte, the lines that are whole count, and no others", () => {
  holds(
    fc.property(intent, events, fc.double({ min: 0, max: 1, noNaN: true }), (first, rest, share) => {
      const lines = linesOf([first, ...rest]);
      const all = Buffer.concat(lines);
      const cut = Math.round(share * all.length);
      const ends = lines.map((_line, at) => Buffer.concat(lines.slice(0, at + 1)).length);
      // A line is whole without its line feed too: only that is missing.
      const whole = ends.filter((end) => end - 1 <= cut).length;
      const firstEnds = (lines[0]?.length ?? 0) <= cut;
      const expected = rest.slice(0, Math.max(0, whole - 1)).reduce(advance, BEGINNING);
      expect(stateOf(all.subarray(0, cut))).toEqual(firstEnds ? expected : null);
    }),
  );
});

it("records torn at any byte never swallow the next one, which begins on a fresh line", () => {
  const torn = fc.tuple(later, fc.double({ min: 0, max: 0.99, noNaN: true }));
  const tornThenWhole = fc.array(fc.tuple(fc.option(torn), later), { maxLength: 3 });
  holds(
    fc.property(intent, tornThenWhole, (first, steps) => {
      const pieces = linesOf([first]);
      for (const [tail, next] of steps) {
        const [line = Buffer.alloc(0)] = tail ? linesOf([tail[0]]) : [];
        const left = line.subarray(0, Math.min(line.length - 2, Math.floor((tail?.[1] ?? 0) * line.length)));
        pieces.push(left, Buffer.from(left.length > 0 ? "\n" : ""), ...linesOf([next]));
      }
      const expected = steps.map(([, next]) => next).reduce(advance, BEGINNING);
      expect(stateOf(Buffer.concat(pieces))).toEqual(expected);
    }),
  );
});

it("in any order, with any garbage between: an accepted task stays one, and a saved one stays saved", () => {
  const garbage = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from([...bytes, 0x0a]));
  const line = fc.oneof(
    { weight: 3, arbitrary: later.map((event) => Buffer.from(formatLine(event))) },
    garbage,
  );
  holds(
    fc.property(fc.array(line, { maxLength: 6 }), (lines) => {
      const state = stateOf(Buffer.concat([...linesOf([EVENTS.intent]), ...lines]));
      const types = lines.map((each) => /^{"type":"(\w+)"/.exec(each.toString("utf8"))?.[1]);
      const accepted = types.indexOf("accepted");
      expect(state !== null && "taskId" in state).toBe(accepted !== -1);
      const saved = accepted !== -1 && types.lastIndexOf("saved") > accepted;
      expect(state?.name === "saved").toBe(saved);
    }),
  );
});

/** Lines that are about no request in particular. */
const OF_NONE: ReadonlySet<string> = new Set([
  ...["intent", "rate_limited", "submitting", "dismissed", "partly_saved", "saved", "released"],
]);

/** Any line at all, of any of four requests; the task has three. */
const ofAnyRequest = fc
  .tuple(
    fc.constantFrom(...Object.values(EVENTS), MADE, { ...EVENTS.failed, charged: "no" as const }),
    fc.nat(3),
  )
  .map(([event, request]) => (OF_NONE.has(event.type) ? event : { ...event, request }) as TaskEvent);

it("at any other provider, lines in any order make a task: what is free never costs, and what was made paid is never free", () => {
  holds(
    fc.property(
      fc.array(ofAnyRequest, { maxLength: 12 }),
      fc.boolean(),
      fc.constantFrom(1, 3),
      (lines, isPaid, requests) => {
        const record = recordOf(lines, { isPaid, requests });
        expect(record.requests).toHaveLength(requests);
        expect(taskIdOf(record)).toBe(WORK.taskId);
        const charged = chargedOf(record);
        if (!isPaid) expect(charged).toBe("no");
        const step = lines.findIndex((_, at) => {
          const { state } = recordOf(lines.slice(0, at + 1), { isPaid, requests });
          return state.name === "completed";
        });
        if (isPaid && step !== -1) expect(charged).not.toBe("no");
        expect(spentCredits(record) ?? 0).toBeLessThanOrEqual(record.intent.credits ?? 0);
        // What it comes to is the same for whoever reads its lines from the disk.
        const read = readTaskLines("x", Buffer.concat(linesOf([firstOf(record), ...lines])).toString("utf8"));
        expect(read).toEqual({ kind: "task", record });
      },
    ),
  );
});

it("any bytes at all are a task, a stub, damage or a newer release's, and the task is whole", () => {
  const valid = Buffer.concat(linesOf([EVENTS.intent, EVENTS.accepted, EVENTS.completed]));
  const spoilt = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 4 }).map((spots) => {
    const bytes = Buffer.from(valid);
    for (const [at, byte] of spots) bytes[at] = byte;
    return bytes;
  });
  const wild = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  holds(
    fc.property(fc.oneof(spoilt, wild), (bytes) => {
      const read = readTaskLines("x", bytes.toString("utf8"));
      expect(["task", "stub", "damaged", "newer"]).toContain(read.kind);
      if (read.kind === "task")
        expect(read.record.intent).toMatchObject({ request: { prompt: expect.any(String) } });
      if (read.kind === "stub") expect(bytes.includes(0x0a)).toBe(false);
    }),
  );
});

it("on a real disk too: a file cut off at any byte takes the next record whole", async () => {
  const target = path.join(await temporaryFolder(), "task.jsonl");
  const whole = Buffer.concat(linesOf([EVENTS.intent, EVENTS.accepted, EVENTS.completed]));
  const firstLine = formatLine(EVENTS.intent).length;
  await holdsInTime(
    fc.asyncProperty(fc.integer({ min: firstLine, max: whole.length }), later, async (cut, event) => {
      const before = whole.subarray(0, cut);
      await writeFile(target, before);
      const task = await TaskFile.reopen(target, async () => {});
      await task.record(event);
      await task.close();
      const after = await readFile(target);
      expect(after.subarray(0, cut)).toEqual(before);
      expect(stateOf(after)).toEqual(advance(stateOf(before) ?? BEGINNING, event));
    }),
    100,
  );
});
