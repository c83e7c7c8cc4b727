import { describe, expect, it } from "vitest";
import { formatLine } from "../../src/store/task-file.ts";
import { readTaskLines } from "../../src/store/task-lines.ts";
import { EVENTS, INTENT, linesOf } from "../support/records.ts";
import { identity } from "../support/some-processes.ts";

const { intent, accepted, completed, saved } = EVENTS;

/** How far the task in this file has come, or what kind of file it is otherwise. */
function statusOf(content: string): string {
  const read = readTaskLines("x", content);
  return read.kind === "task" ? read.record.state.name : read.kind;
}

describe("a task's file", () => {
  it("is read as it was written", () => {
    const state = { name: "accepted", taskId: "task-1", acceptedAt: accepted.at } as const;
    expect(readTaskLines("x", linesOf(intent, accepted))).toEqual({
      kind: "task",
      record: {
        id: "x",
        intent: INTENT,
        owner: identity(1),
        submittedAt: intent.at,
        state,
        requests: [state],
        ofAll: [],
      },
    });
  });

  it("holds one event a line, whatever is in the prompt", () => {
    const prompt = "two\nlines\r\n\u2028and a \u0000";
    const line = formatLine({ ...intent, request: { prompt, model: "m" } });
    expect(line.trimEnd()).not.toMatch(/[\r\n]/);
    expect(readTaskLines("x", line)).toMatchObject({ record: { intent: { request: { prompt } } } });
  });

  it.each([
    { prompt: "p", model: "m", ratio: "1:1", image: "https://a.example/1.png", maxImages: 3, quality: "2K" },
    { prompt: "p", model: "m", image: ["https://a.example/1.png", "https://a.example/2.png"] },
  ])("keeps every field of a request: %j", (request) => {
    const read = readTaskLines("x", linesOf({ ...intent, request }));
    expect(read).toMatchObject({ kind: "task", record: { intent: { request } } });
  });

  it.each([
    { kind: "file" as const, path: "/a/b.png", overwrite: true },
    { kind: "stdout" as const, folder: "/a", template: "{task}", overwrite: false },
  ])("keeps every kind of destination: %j", (destination) => {
    const read = readTaskLines("x", linesOf({ ...intent, destination }));
    expect(read).toMatchObject({ kind: "task", record: { intent: { destination } } });
  });

  it.each([
    ["as it is written", { scope: "b pid:[1]" }, "b pid:[1]"],
    ["as earlier releases wrote it", { boot: "b", pidNamespace: "pid:[1]", thread: 3 }, "b pid:[1]"],
    ["by the time of a boot", { boot: "time:5" }, "here time:5"],
    ["by its host alone", {}, "here"],
  ])("names its owner %s", (_how, fields, scope) => {
    const process = { pid: 1, host: "here", started: "1" };
    const line = JSON.stringify({ ...intent, owner: { ...process, ...fields } });
    expect(readTaskLines("x", `${line}\n`)).toMatchObject({ record: { owner: { ...process, scope } } });
  });

  it.each(["", "{", '{"type":"intent","v":1', JSON.stringify(intent)])(
    "without one whole line (%j) is a stub: nothing was ever sent",
    (content) => {
      expect(readTaskLines("x", content)).toEqual({ kind: "stub" });
    },
  );

  it("passes over a last line that is cut short, anywhere", () => {
    const whole = linesOf(intent, accepted);
    const last = linesOf(completed);
    for (let length = 0; length < last.length - 1; length += 1) {
      expect(statusOf(whole + last.slice(0, length))).toBe("accepted");
    }
    expect(statusOf(whole + last)).toBe("completed");
  });

  it("passes over a line cut short in its middle, and reads what stands after it on a line of its own", () => {
    const torn = linesOf(completed).slice(0, 40);
    expect(statusOf(`${linesOf(intent, accepted)}${torn}\n${linesOf(completed, saved)}`)).toBe("saved");
  });

  it.each([
    ['{"type":"admired","at":"now"}', "accepted"],
    ['{"type":"completed","at":"now"}', "accepted"],
    ['{"type":"failed","at":"now","errorCode":7}', "accepted"],
    ["null", "accepted"],
    ["[]", "accepted"],
    ["", "accepted"],
    ["\0\0\0\0", "accepted"],
    ['{"type":"failed","at":"now","errorCode":null,"new":1}', "failed"],
  ])("with the further line %j is %s", (line, status) => {
    expect(statusOf(`${linesOf(intent, accepted)}${line}\n`)).toBe(status);
  });

  it.each([
    ["not JSON\n", "its first line is not JSON"],
    ["null\n", "its first line is not JSON"],
    ["\0\0\0\0\n", "its first line is not JSON"],
    ["\n", "its first line is not JSON"],
    ["[]\n", "its first line is not a task"],
    ['{"type":"intent","v":1}\n', "its first line is not a task"],
    [linesOf(accepted), "its first line is not a task"],
    [linesOf(intent).replace('"v":1', '"v":0'), "its first line is not a task"],
    [linesOf(intent).replace('"v":1', '"v":"2"'), "its first line is not a task"],
    [linesOf(intent).replace('"credits":2', '"credits":"2"'), "its first line is not a task"],
    ['{"__proto__":{"type":"intent","v":1}}\n', "its first line is not a task"],
  ])("%j is damaged: %s", (content, why) => {
    expect(readTaskLines("x", content)).toEqual({ kind: "damaged", why });
  });

  it("of a newer release is left to that one", () => {
    expect(readTaskLines("x", '{"type":"wish","v":2}\n{"more":1}\n')).toEqual({ kind: "newer", version: 2 });
  });
});
