import fc from "fast-check";
import { expect, it } from "vitest";
import type { Answer, Line } from "../../src/task/line.ts";
import {
  getCharged,
  getTaskId,
  isUnknown,
  isUnsaved,
  mayBeCharged,
  openTaskState,
  STATES,
  spentCredits,
  summaryLines,
  type Task,
  totalUsage,
  unsentCredits,
  withLine,
} from "../../src/task/task.ts";
import { holds } from "../support/holds.ts";
import { LINES, recordOf, WORK } from "../support/records.ts";

const { waiting, refused, unknown, accepted, completed, failed } = LINES;

/** What a process may write after it has submitted a request, in order. */
const ANSWERS: Answer[][] = [
  [],
  [waiting],
  [refused],
  [unknown],
  [accepted],
  [accepted, completed],
  [accepted, failed],
  [{ ...completed, urls: [] }],
  [{ ...completed, urls: [] }, unknown],
  [{ ...failed, charged: "no" }],
];

const REQUESTS = 2;

/** One part: attempts of one process at any of the requests, each with its own answers. */
const part = fc.array(fc.tuple(fc.nat(REQUESTS - 1), fc.constantFrom(...ANSWERS)), { maxLength: 3 });

/** Parts of one task, each written by one process, and numbers by which their lines are mixed: one for each of at most 27. */
const history = fc.record({
  parts: fc.array(part, { minLength: 1, maxLength: 3 }).map((parts) => parts.map(linesOfPart)),
  picks: fc.array(fc.nat(), { minLength: 27, maxLength: 27 }),
  isPaid: fc.boolean(),
});

function linesOfPart(attempts: readonly [number, Answer[]][], at: number): Line[] {
  return attempts.flatMap(([request, answers], index) => {
    const of = { request, attempt: `${at + 1}.${index}` };
    return [{ ...LINES.started, ...of }, ...answers.map((answer): Line => ({ ...answer, ...of }))];
  });
}

/** The lines of all parts in another order, in which each part's own lines stay in theirs. */
function mixed(parts: readonly Line[][], picks: readonly number[]): Line[] {
  const left = parts.map((lines) => [...lines]);
  return picks.flatMap((pick) => {
    const open = left.filter((lines) => lines.length > 0);
    return open[pick % open.length]?.splice(0, 1) ?? [];
  });
}

/** Everything that users read of a task but its times. */
function factsOf(task: Task) {
  return {
    state: task.state,
    requests: task.requests.map(({ state, possibleSubmits }) => [state, possibleSubmits]),
    word: openTaskState(task),
    charged: getCharged(task),
    mayBeCharged: mayBeCharged(task),
    spent: spentCredits(task),
    unsent: unsentCredits(task),
    isUnknown: isUnknown(task),
    isUnsaved: isUnsaved(task),
    usage: totalUsage(task),
  };
}

it("a task's state depends on the set of its attempts and answers, not on their order", () => {
  holds(
    fc.property(history, ({ parts, picks, isPaid }) => {
      const inOrder = recordOf(parts.flat(), { isPaid, requests: REQUESTS });
      const inAnother = recordOf(mixed(parts, picks), { isPaid, requests: REQUESTS });
      expect(factsOf(inAnother)).toEqual(factsOf(inOrder));
    }),
  );
});

it("a line of one attempt never changes the answer to another one", () => {
  holds(
    fc.property(history, ({ parts, isPaid }) => {
      const lines = parts.flat();
      const all = recordOf(lines, { isPaid, requests: REQUESTS });
      for (const { attempts } of all.requests)
        for (const attempt of attempts) {
          const own = lines.filter((line) => "attempt" in line && line.attempt === attempt.name);
          const [alone] = recordOf(own, { isPaid, requests: REQUESTS }).requests.flatMap(
            (each) => each.attempts,
          );
          expect(alone).toEqual(attempt);
        }
    }),
  );
});

it("no further line makes a request that is accepted or completed wait, or one without an answer", () => {
  holds(
    fc.property(history, ({ parts, picks }) => {
      const before = mixed(parts, picks);
      const task = recordOf(before, { requests: REQUESTS });
      for (const [request, { state, attempts }] of task.requests.entries()) {
        if (state !== "accepted" && state !== "completed" && state !== "started") continue;
        const open = attempts.find(({ answer }) => answer === null);
        const other = { request, attempt: "9.9" };
        for (const line of [waiting, refused, unknown]) {
          const after = withLine(withLine(task, { ...LINES.started, ...other }), { ...line, ...other });
          expect(after.requests[request]?.state).toBe(state === "started" && open ? "started" : state);
        }
      }
    }),
  );
});

/** Any line but a first one, of any of four requests and three attempts; the task has fewer. */
const { intent: _, ...FURTHER } = LINES;
const anyLine = fc
  .tuple(
    fc.constantFrom<Line>(
      ...Object.values(FURTHER),
      { ...completed, urls: [] },
      { ...failed, charged: "no" },
    ),
    fc.nat(3),
    fc.constantFrom("1.0", "1.1", "2.0"),
  )
  .map(([line, request, attempt]): Line => {
    if ("attempt" in line && line.type !== "intent") return { ...line, request, attempt };
    return line.type === "not_sent" ? { ...line, request } : line;
  });

it("what is free never costs, and what a paid provider has made is never free, in whatever order the lines are", () => {
  holds(
    fc.property(
      fc.array(anyLine, { maxLength: 12 }),
      fc.boolean(),
      fc.constantFrom(1, 3),
      (lines, isPaid, requests) => {
        const task = recordOf(lines, { isPaid, requests });
        expect(task.requests).toHaveLength(requests);
        expect(getTaskId(task)).toBe(WORK.taskId);
        expect(spentCredits(task) ?? 0).toBeLessThanOrEqual(task.intent.credits ?? 0);
        if (!isPaid) expect(getCharged(task)).toBe("no");
        else if (lines.some((line) => line.type === "completed" && line.request < requests))
          expect(getCharged(task)).not.toBe("no");
      },
    ),
  );
});

/** Lines that end most tasks. */
const ENDS: Line[] = [
  FURTHER.dismissed,
  FURTHER.not_sent,
  { ...FURTHER.not_sent, request: 1 },
  FURTHER.saved,
];

it("the summary of a task that has ended, read after its first line, is the same task", () => {
  holds(
    fc.property(
      fc.array(anyLine, { maxLength: 12 }),
      fc.boolean(),
      fc.constantFrom(1, 3),
      (lines, isPaid, requests) => {
        const task = recordOf([...lines, ...ENDS], { isPaid, requests });
        fc.pre(!STATES[task.state].isOpen);
        const read = recordOf(summaryLines(task), { isPaid, requests });
        expect(factsOf(read)).toEqual(factsOf(task));
        expect([read.files, read.isSaved, read.dismissal]).toEqual([
          task.files,
          task.isSaved,
          task.dismissal,
        ]);
        expect(getTaskId(read)).toBe(getTaskId(task));
      },
    ),
  );
});
