import fc from "fast-check";
import { expect, it } from "vitest";
import { isTaskId, parseEnvelope, parsePolledState, parseTaskId } from "../../src/api/schema.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds } from "../support/holds.ts";

const text = fc.string({ unit: anyCharacter, maxLength: 12 });
const scalar = fc.oneof(
  text,
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(null, true, 0.5, [], {}, ["x"]),
);
const code = fc.oneof(fc.constantFrom(0, "0", -1, "-1", 1, -999), scalar);
const key = fc.constantFrom(
  "login_required",
  "SUBSCRIPTION_REQUIRED",
  "some.key",
  "__proto__",
  "constructor",
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
const envelope = fc.record(
  { code, message: fc.oneof(key, scalar), data: fc.oneof(data, scalar) },
  { requiredKeys: [] },
);

/** Envelopes, envelopes cut short or with a byte changed, other JSON, and no JSON. */
const body = fc.oneof(
  { weight: 4, arbitrary: envelope.map((value) => JSON.stringify(value)) },
  fc.tuple(envelope, fc.nat(120)).map(([value, end]) => JSON.stringify(value).slice(0, end)),
  fc.tuple(envelope, fc.nat(60), text).map(([value, at, middle]) => {
    const json = JSON.stringify(value);
    return json.slice(0, at) + middle + json.slice(at + 1);
  }),
  fc.constantFrom("[".repeat(500), `${'{"code":'.repeat(200)}0`, "\uFEFF{}", '{"__proto__":{"code":0}}'),
  text,
);

/** What the document says of a code (section 2.1), told without the parser. */
function signOf(body: string): number | null {
  try {
    const value = JSON.parse(body).code;
    const isNumber = typeof value === "number" || (typeof value === "string" && /^-?[0-9]{1,9}$/.test(value));
    return isNumber ? Math.sign(Number(value)) : null;
  } catch {
    return null;
  }
}

it("any reply is read as the success, the error or the invalid reply that its code makes it", () => {
  const kinds = new Map([
    [0, "success"],
    [-1, "error"],
  ]);
  holds(
    fc.property(body, (reply) => {
      const sign = signOf(reply);
      expect(parseEnvelope(reply).kind).toBe(kinds.get(sign ?? 1) ?? "invalid");
    }),
  );
});

it("an error's key is text, and an invalid reply is described in words of our own, not in the reply's", () => {
  holds(
    fc.property(body, (reply) => {
      const read = parseEnvelope(reply);
      if (read.kind === "error") expect(typeof read.key).toBe("string");
      if (read.kind === "invalid") expect(read.why).toMatch(/^[a-z ,.'-]+( [\d.e+]+)?$/i);
    }),
  );
});

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
