import fc from "fast-check";
import { expect, it } from "vitest";
import { isTaskId, parsePolledState, parseTaskId } from "../../src/providers/service/replies.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds } from "../support/holds.ts";

const text = fc.string({ unit: anyCharacter, maxLength: 12 });
const scalar = fc.oneof(
  text,
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(null, true, 0.5, [], {}, ["x"]),
);
const taskId = fc.oneof(fc.constantFrom("task-1", "../x", "a\u001b[2J", "\u009b", "t".repeat(257)), scalar);
const url = fc.constantFrom("https://cdn.example/1.png", "", " ", "file:///etc/passwd");
const data = fc.record(
  {
    taskId,
    status: fc.oneof(fc.constantFrom("processing", "completed", "failed"), scalar),
    resultUrl: fc.oneof(url, fc.array(fc.oneof(url, scalar), { maxLength: 3 }), scalar),
    errorCode: fc.oneof(fc.constantFrom(0, "0", "0.0", 17, "E_17", null), scalar),
  },
  { requiredKeys: [] },
);
it("whatever is taken for a task id can be stored, printed and sent back", () => {
  const piece = fc.constantFrom("..", "/", "\\", "task", "-", " ", "\n", "\u001b", "\u0085", "\ud800", "é");
  const pieces = fc.array(piece, { maxLength: 6 }).map((parts) => parts.join(""));
  const wild = fc.string({ unit: anyCharacter, maxLength: 20 });
  const long = fc.integer({ min: 250, max: 260 }).map((length) => "t".repeat(length));
  holds(
    fc.property(fc.oneof(wild, pieces, long, scalar), (id) => {
      const taken = parseTaskId({ taskId: id });
      expect(taken).toBe(isTaskId(id) ? id : null);
      if (taken === null) return;
      expect(taken.trim().length).toBeGreaterThan(0);
      expect(taken.length).toBeLessThanOrEqual(256);
      expect(taken).not.toMatch(/[\u0000-\u001f\u007f-\u009f]|\.\.[/\\]/);
      // Throws on a lone surrogate.
      expect(decodeURIComponent(encodeURIComponent(taken))).toBe(taken);
    }),
  );
});

it("any task record has ended only with what that end needs, and runs otherwise", () => {
  holds(
    fc.property(fc.oneof(data, scalar), (task) => {
      const state = parsePolledState(task);
      const said = Object(task);
      expect(state === null).toBe(typeof task !== "object" || task === null || Array.isArray(task));
      if (state?.status === "completed") {
        expect(said.status).toBe("completed");
        expect(state.urls.length).toBeGreaterThan(0);
        for (const each of state.urls) expect([said.resultUrl].flat()).toContain(each);
      }
      if (state?.status === "failed") {
        expect(said.status === "failed" || Number(said.errorCode) !== 0).toBe(true);
        if (state.errorCode !== null) expect(state.errorCode).toBe(String(said.errorCode));
      }
      if (state?.status === "running") expect(said.status).not.toBe("failed");
    }),
  );
});
