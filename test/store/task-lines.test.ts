import { describe, expect, it } from "vitest";
import { formatLine } from "../../src/store/task-file.ts";
import { readTaskLines } from "../../src/store/task-lines.ts";
import { SANDBOX_SERVICE } from "../../src/task/intent.ts";
import { getAnswer, type Task } from "../../src/task/task.ts";
import { AT, INTENT, LINES, linesOf, recordOf } from "../support/records.ts";

const { intent, started, accepted, completed, saved, taken, released } = LINES;

/** How far the task in this file has come, or what kind of file it is otherwise. */
function statusOf(...parts: string[]): string {
  const read = readTaskLines("x", parts);
  return read.kind === "task" ? read.task.state : read.kind;
}

describe("a task's file", () => {
  it("holds one line for each fact, whatever is in the prompt", () => {
    const prompt = "two\nlines\r\n\u2028and a \u0000";
    const line = formatLine({ ...intent, request: { prompt, model: "m" } });
    expect(line.trimEnd()).not.toMatch(/[\r\n]/);
    expect(readTaskLines("x", [line])).toMatchObject({ task: { intent: { request: { prompt } } } });
  });

  it.each([{}, { code: "invalid_value", param: "style" }])(
    "keeps the details of a refusal: %j",
    (details) => {
      const error = { type: "invalid_request", key: null, message: "No.", ...details } as const;
      const { refused } = LINES;
      const { task } = readTaskLines("x", [linesOf(intent, started, { ...refused, error })]) as {
        task: Task;
      };
      expect(task.requests[0] && getAnswer(task.requests[0], "refused")?.error).toEqual(error);
    },
  );

  it("keeps what else a task is begun with", () => {
    const first = { ...intent, id: "x", attempt: "1.0", claim: "ab/cd-1.1", once: true } as const;
    const { task } = readTaskLines("x", [linesOf(first)]) as { task: object };
    expect(task).toMatchObject({ claim: "ab/cd-1.1", isOnce: true, state: "started", holder: intent.holder });
  });

  it.each([
    { kind: "file" as const, path: "/a/b.png", overwrite: true },
    { kind: "stdout" as const, folder: "/a", template: "{task}", overwrite: false },
  ])("keeps every kind of destination: %j", (destination) => {
    const read = readTaskLines("x", [linesOf({ ...intent, destination })]);
    expect(read).toMatchObject({ kind: "task", task: { intent: { destination } } });
  });

  it.each(["", "{", '{"type":"intent","v":2', JSON.stringify(intent)])(
    "without one whole line (%j) is a stub: nothing was ever sent",
    (content) => {
      expect(readTaskLines("x", [content])).toEqual({ kind: "stub" });
    },
  );

  it.each([
    ['{"type":"admired","at":"now"}', "accepted"],
    ['{"type":"completed","at":"now"}', "accepted"],
    ['{"type":"failed","at":"now","request":0,"attempt":"1.0","errorCode":7}', "accepted"],
    ['{"type":"failed","at":"now","request":0,"errorCode":null}', "accepted"],
    ['{"type":"failed","at":"now","request":-1,"attempt":"1.0","errorCode":null}', "accepted"],
    ["null", "accepted"],
    ["[]", "accepted"],
    ["", "accepted"],
    ["\0\0\0\0", "accepted"],
    ['{"type":"failed","at":"now","request":0,"attempt":"1.0","errorCode":null,"new":1}', "failed"],
  ])("with the further line %j is %s", (line, status) => {
    expect(statusOf(`${linesOf(intent, accepted)}${line}\n`)).toBe(status);
  });

  it.each([
    ["not JSON\n", "its first line is not JSON"],
    ["null\n", "its first line is not JSON"],
    ["\0\0\0\0\n", "its first line is not JSON"],
    ["\n", "its first line is not JSON"],
    ["[]\n", "its first line is not a task"],
    ['{"type":"intent","v":2}\n', "its first line is not a task"],
    ['{"type":"intent","v":1}\n', "its first line is not a task"],
    [linesOf(accepted), "its first line is not a task"],
    [linesOf(taken), "its first line is not a task"],
    [linesOf(intent).replace('"v":2', '"v":0'), "its first line is not a task"],
    [linesOf(intent).replace('"v":2', '"v":"2"'), "its first line is not a task"],
    [linesOf(intent).replace('"credits":2', '"credits":"2"'), "its first line is not a task"],
    ['{"__proto__":{"type":"intent","v":2}}\n', "its first line is not a task"],
  ])("%j is damaged: %s", (content, why) => {
    expect(readTaskLines("x", [content])).toEqual({ kind: "damaged", why });
  });

  it("of a newer release is left to that one", () => {
    expect(readTaskLines("x", ['{"type":"wish","v":3}\n{"more":1}\n'])).toEqual({
      kind: "newer",
      version: 3,
    });
  });
});

describe("the parts of a task", () => {
  const second = { attempt: "2.0" };

  it("add up, whoever has written them", () => {
    const parts = [
      linesOf(intent, started),
      linesOf(taken, { ...started, ...second }, { ...accepted, ...second }),
    ];
    const read = readTaskLines("x", parts);
    expect(read).toMatchObject({
      task: { parts: 2, holder: taken.holder, mark: taken.holder, state: "accepted" },
    });
  });

  it("are held by nobody if the last one has no whole line, or was released", () => {
    const first = linesOf(intent, started);
    expect(readTaskLines("x", [first, linesOf(taken).slice(0, 20)])).toMatchObject({
      task: { parts: 2, holder: null, mark: "", state: "started" },
    });
    expect(readTaskLines("x", [first, linesOf(taken, released)])).toMatchObject({
      task: { holder: null, mark: taken.holder },
    });
    expect(readTaskLines("x", [linesOf(intent, released), linesOf(taken)])).toMatchObject({
      task: { holder: taken.holder },
    });
  });

  it("count a late answer in an earlier one", () => {
    const lost = linesOf(taken, LINES.unknown, LINES.dismissed);
    expect(statusOf(linesOf(intent, started), lost)).toBe("dismissed");
    expect(statusOf(linesOf(intent, started, accepted), lost)).toBe("accepted");
    expect(statusOf(linesOf(intent, started, LINES.waiting), lost)).toBe("dismissed");
  });
});

describe("a task of version 1", () => {
  const {
    holder: _holder,
    taskId: _id,
    isPaid: _paid,
    requests: _count,
    requestMs: _ms,
    options: _options,
    ...facts
  } = intent;
  const owner = { pid: 7, host: "here", scope: "here", started: "1" };
  const first = { ...facts, v: 1, owner, until: AT };
  const line = (type: string, more: object = {}) => ({ type, at: AT, ...more });
  const contentOf = (lines: object[]) => lines.map((each) => `${JSON.stringify(each)}\n`).join("");
  const read = (...lines: object[]) => readTaskLines("x", [contentOf([first, ...lines])]);
  const limited = line("rate_limited", { why: "429", until: AT });
  const again = line("submitting", { until: AT });
  const taken1 = line("accepted", { taskId: "task-1" });
  const made = line("completed", { urls: ["https://cdn.example/1.png"], seenMs: 1, pendingMs: null });

  it.each<[string, object[]]>([
    ["started", []],
    ["waiting", [limited]],
    ["started", [limited, again]],
    ["accepted", [limited, again, taken1]],
    ["accepted", [taken1]],
    ["accepted", [line("unknown", { why: "silence" }), taken1]],
    ["completed", [taken1, made]],
    ["completed", [taken1, made, line("partly_saved", { files: [null] })]],
    ["failed", [taken1, line("failed", { errorCode: "17" })]],
    ["saved", [taken1, made, line("saved", { files: [] })]],
    ["accepted", [taken1, line("released")]],
    ["unknown", [line("unknown", { why: "silence", excerpt: "<html>" })]],
    ["dismissed", [line("unknown", { why: "silence" }), line("dismissed", { why: "x", replacement: null })]],
    ["dismissed", [line("dismissed", { why: "x", replacement: "y" })]],
    ["not_sent", [line("not_sent", { why: "offline" })]],
    ["not_sent", [limited, line("not_sent", { why: "offline" })]],
    ["refused", [line("refused", { error: { type: "auth_required", key: null, message: "No." } })]],
  ])("at the hosted service is %s after %j", (state, lines) => {
    expect(read(...lines)).toMatchObject({
      kind: "task",
      task: { id: "x", state, submittedAt: AT, intent: INTENT, mark: "" },
    });
  });

  it("keeps its id, its times, and its quality's time limit", () => {
    const request = { ...INTENT.request, quality: "4K" };
    const content = contentOf([{ ...first, request }, taken1, made]);
    expect(readTaskLines("x", [content])).toMatchObject({
      task: {
        intent: { request, requestMs: 600_000, taskId: null, isPaid: true, requests: 1 },
        requests: [
          { possibleSubmits: 0, attempt: { accepted: { id: "task-1", at: AT }, answer: { seenMs: 1 } } },
        ],
      },
    });
  });

  it("is read too if it is of this version, and its terms are in a place of their own", () => {
    const { taskId, isPaid, requests, requestMs, options, ...rest } = intent;
    const work = { taskId, isPaid, requests, requestMs, options, queue: false, keepsUnsent: false };
    expect(statusOf(contentOf([{ ...rest, work }, started, accepted]))).toBe("accepted");
  });

  it("goes on in a part of this version", () => {
    const content = contentOf([first, taken1]);
    expect(statusOf(content, linesOf(taken, { ...completed, attempt: "1.0.0" }, saved))).toBe("saved");
  });

  describe("at another provider", () => {
    const work = {
      taskId: "task_1",
      isPaid: true,
      requests: 2,
      requestMs: 1000,
      options: recordOf([], {}).intent.options,
    };
    const own = (isPaid: boolean, ...lines: object[]) => {
      const service = { baseUrl: SANDBOX_SERVICE, keyId: "0123456789abcdef" };
      const result = readTaskLines("x", [
        contentOf([{ ...first, service, work: { ...work, isPaid } }, ...lines]),
      ]);
      if (result.kind !== "task") throw new Error(result.kind);
      return result.task.requests.map(({ state, possibleSubmits }) => `${state} ${possibleSubmits}`);
    };
    const of = (request: number, type: string, more: object = {}) => line(type, { request, ...more });
    const sent = of(0, "started", { by: owner, until: AT });

    it("is read by request", () => {
      expect(own(true)).toEqual(["waiting 0", "waiting 0"]);
      expect(own(true, sent, of(1, "not_sent", { why: "x" }))).toEqual(["started 1", "not_sent 0"]);
      expect(own(true, sent, of(0, "waiting", { sent: false }), sent)).toEqual(["started 1", "waiting 0"]);
      expect(own(true, sent, of(0, "completed", { urls: [], seenMs: null, pendingMs: null }))).toEqual([
        "completed 0",
        "waiting 0",
      ]);
      expect(own(true, sent, of(0, "taken_over", { by: owner, until: AT }))).toEqual([
        "started 1",
        "waiting 0",
      ]);
    });

    it("that waits after its reply was lost is of unknown outcome if it is paid, and is sent again if it is free", () => {
      const lost = [sent, of(0, "waiting", { why: "reset", sent: true })];
      expect(own(true, ...lost)).toEqual(["unknown 1", "waiting 0"]);
      expect(own(false, ...lost)).toEqual(["waiting 1", "waiting 0"]);
      expect(own(false, ...lost, of(0, "waiting", { sent: true }), sent)).toEqual(["started 2", "waiting 0"]);
    });
  });
});
