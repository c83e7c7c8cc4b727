import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { formatLine, TaskFile } from "../../src/store/task-file.ts";
import { readTaskLines } from "../../src/store/task-lines.ts";
import type { Line } from "../../src/task/line.ts";
import { type Task, taskFromIntent, withLine } from "../../src/task/task.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds, holdsInTime } from "../support/holds.ts";
import { AT, LINES, recordOf, WORK } from "../support/records.ts";
import { requests } from "../support/requests.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const text = fc.string({ unit: anyCharacter, maxLength: 8 });
const intent = requests(text).map((request): Line<"intent"> => ({ ...LINES.intent, request }));
const file = fc.record({
  path: fc.option(text),
  url: fc.option(text),
  mediaType: text,
  bytes: fc.nat(),
  sha256: text,
  width: fc.nat(),
  height: fc.nat(),
});
const attempt = fc.constantFrom("1.0", "1.1", "2.0");
const later: fc.Arbitrary<Line> = fc.oneof(
  attempt.map((name): Line => ({ ...LINES.started, attempt: name })),
  fc.tuple(text, attempt).map(([why, name]): Line => ({ ...LINES.waiting, why, attempt: name })),
  text.map((why): Line => ({ ...LINES.not_sent, why })),
  fc.tuple(text, attempt).map(([why, name]): Line => ({ ...LINES.unknown, why, attempt: name })),
  text.map((excerpt): Line => ({ ...LINES.unknown, why: "nonsense", excerpt })),
  text.map((key): Line => ({ ...LINES.refused, error: { ...LINES.refused.error, key } })),
  fc.tuple(text, attempt).map(([taskId, name]): Line => ({ ...LINES.accepted, taskId, attempt: name })),
  fc.array(text, { maxLength: 2 }).map((urls): Line => ({ ...LINES.completed, urls })),
  text.map((errorCode): Line => ({ ...LINES.failed, errorCode })),
  text.map((why): Line => ({ ...LINES.dismissed, why })),
  fc.array(file, { maxLength: 1 }).map((files): Line => ({ type: "saved", at: AT, files })),
  fc.array(fc.option(file), { maxLength: 2 }).map((files): Line => ({ type: "partly_saved", at: AT, files })),
);

const lines = fc.array(later, { maxLength: 4 });

/** The task of these lines, as the reducer makes it. */
function taskOf(first: Line<"intent">, rest: readonly Line[]): Task {
  return rest.reduce(withLine, taskFromIntent("x", first));
}

/** The task in these bytes; null if they are none. */
function taskIn(bytes: Buffer): Task | null {
  const read = readTaskLines("x", [bytes.toString("utf8")]);
  return read.kind === "task" ? read.task : null;
}

/** Lines, each as bytes. */
function bytesOf(all: readonly Line[]): Buffer[] {
  return all.map((line) => Buffer.from(formatLine(line)));
}

it("what was written is read again, whatever text is in it", () => {
  holds(
    fc.property(intent, lines, (first, rest) => {
      const read = readTaskLines("x", [Buffer.concat(bytesOf([first, ...rest])).toString("utf8")]);
      expect(read).toEqual({ kind: "task", task: taskOf(first, rest) });
    }),
  );
});

it("in several parts, the lines of all of them add up, and the last one has the task", () => {
  holds(
    fc.property(intent, fc.array(lines, { minLength: 1, maxLength: 3 }), (first, [rest = [], ...more]) => {
      const parts = [
        [first, ...rest],
        ...more.map((part, at): Line[] => [{ ...LINES.taken, holder: `${at}` }, ...part]),
      ];
      const read = readTaskLines(
        "x",
        parts.map((part) => Buffer.concat(bytesOf(part)).toString("utf8")),
      );
      const task = taskOf(first, parts.flat().slice(1));
      expect(read).toEqual({ kind: "task", task: { ...task, parts: parts.length } });
    }),
  );
});

it("cut off at any byte, the lines that are whole count, and no others", () => {
  holds(
    fc.property(intent, lines, fc.double({ min: 0, max: 1, noNaN: true }), (first, rest, share) => {
      const written = bytesOf([first, ...rest]);
      const all = Buffer.concat(written);
      const cut = Math.round(share * all.length);
      const ends = written.map((_line, at) => Buffer.concat(written.slice(0, at + 1)).length);
      // A line is whole without its line feed too: only that is missing.
      const whole = ends.filter((end) => end - 1 <= cut).length;
      const firstEnds = (written[0]?.length ?? 0) <= cut;
      const expected = taskOf(first, rest.slice(0, Math.max(0, whole - 1)));
      expect(taskIn(all.subarray(0, cut))).toEqual(firstEnds ? expected : null);
    }),
  );
});

it("records torn at any byte never swallow the next one, which begins on a fresh line", () => {
  const torn = fc.tuple(later, fc.double({ min: 0, max: 0.99, noNaN: true }));
  const tornThenWhole = fc.array(fc.tuple(fc.option(torn), later), { maxLength: 3 });
  holds(
    fc.property(intent, tornThenWhole, (first, steps) => {
      const pieces = bytesOf([first]);
      for (const [tail, next] of steps) {
        const [line = Buffer.alloc(0)] = tail ? bytesOf([tail[0]]) : [];
        const left = line.subarray(0, Math.min(line.length - 2, Math.floor((tail?.[1] ?? 0) * line.length)));
        pieces.push(left, Buffer.from(left.length > 0 ? "\n" : ""), ...bytesOf([next]));
      }
      const expected = taskOf(
        first,
        steps.map(([, next]) => next),
      );
      expect(taskIn(Buffer.concat(pieces))).toEqual(expected);
    }),
  );
});

it("garbage between the lines changes nothing", () => {
  const garbage = fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from([...bytes, 0x0a]));
  holds(
    fc.property(intent, fc.array(fc.tuple(garbage, later), { maxLength: 4 }), (first, all) => {
      const pieces = all.flatMap(([bytes, line]) => [bytes, ...bytesOf([line])]);
      const task = taskOf(
        first,
        all.map(([, line]) => line),
      );
      expect(taskIn(Buffer.concat([...bytesOf([first]), ...pieces]))).toEqual(task);
    }),
  );
});

it("at any other provider too, what was written is read again", () => {
  holds(
    fc.property(lines, fc.boolean(), fc.constantFrom(1, 3), (rest, isPaid, count) => {
      const first = { ...LINES.intent, ...WORK, isPaid, requests: count };
      const all = rest.map(
        (line) =>
          ("attempt" in line && line.type !== "intent"
            ? { ...line, request: line.request % count }
            : line) as Line,
      );
      const read = taskIn(Buffer.concat(bytesOf([first, ...all])));
      expect(read).toEqual(recordOf(all, { isPaid, requests: count }));
    }),
  );
});

it("any bytes at all are a task, a stub, damage or a newer release's, and the task is whole", () => {
  const valid = Buffer.concat(bytesOf([LINES.intent, LINES.accepted, LINES.completed]));
  const spoilt = fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 4 }).map((spots) => {
    const bytes = Buffer.from(valid);
    for (const [at, byte] of spots) bytes[at] = byte;
    return bytes;
  });
  const wild = fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes));
  holds(
    fc.property(fc.oneof(spoilt, wild), (bytes) => {
      const read = readTaskLines("x", [bytes.toString("utf8")]);
      expect(["task", "stub", "damaged", "newer"]).toContain(read.kind);
      if (read.kind === "task")
        expect(read.task.intent).toMatchObject({ request: { prompt: expect.any(String) } });
      if (read.kind === "stub") expect(bytes.includes(0x0a)).toBe(false);
    }),
  );
});

it("on a real disk too: a file cut off at any byte takes the next record whole", async () => {
  const target = path.join(await temporaryFolder(), "task.jsonl");
  const whole = Buffer.concat(bytesOf([LINES.intent, LINES.accepted, LINES.completed]));
  const firstLine = formatLine(LINES.intent).length;
  await holdsInTime(
    fc.asyncProperty(fc.integer({ min: firstLine, max: whole.length }), later, async (cut, line) => {
      const before = whole.subarray(0, cut);
      await writeFile(target, before);
      const task = await TaskFile.reopen(target, () => {});
      await task.record(line);
      task.close();
      const after = await readFile(target);
      expect(after.subarray(0, cut)).toEqual(before);
      expect(taskIn(after)).toEqual(withLine(taskIn(before) ?? taskFromIntent("x", LINES.intent), line));
    }),
    100,
  );
});
