import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { Line } from "../../../src/task/line.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { leaveAtGenerator } from "../../support/generator-task.ts";
import { ledgerOf } from "../../support/left-task.ts";
import { LINES } from "../../support/records.ts";

const { started, accepted, completed, unknown, failed, saved } = LINES;
const FREE = { isPaid: false };

const OPEN: readonly [word: string, lines: readonly Line[]][] = [
  ["waiting", []],
  ["running", [started]],
  ["accepted", [started, accepted]],
  ["made", [started, { ...completed, urls: [] }]],
  ["unknown", [started, unknown]],
];

/** A task in each state, named after it. */
async function everyState() {
  const world = await commandWorld({}, { ...NO_ACCOUNT, IMGGEN_GENERATOR: "http://127.0.0.1:9" });
  const ends: [string, Line[]][] = [
    ["failed", [started, failed]],
    ["saved", [started, { ...completed, urls: [] }, saved]],
    ["unsent", [LINES.not_sent]],
  ];
  for (const [name, lines] of [...OPEN, ...ends]) {
    const id = await leaveAtGenerator(world, lines, { prompt: name, work: { taskId: `task_${name}` } });
    const { work } = ledgerOf(world.home);
    await work.begin(id, 0, "1.0");
    if (name === "running") await writeFile(path.join(work.attemptFolder(id, 0, "1.0"), "reply"), "a reply");
  }
  return world;
}

describe("where an open task stands", () => {
  it("is one word in the table of history and in status", async () => {
    const world = await everyState();
    const { stdout } = await world.run(["history"]);
    for (const [word] of OPEN) expect(stdout).toMatch(new RegExp(`task_${word}  +${word} `));
    expect(stdout).not.toContain("unsent");
    for (const word of ["waiting", "running", "made"])
      expect((await world.run(["status", `task_${word}`])).stdout).toBe(`task_${word}  ${word}\n`);
  });

  it("is a field of the task in JSON, which one that is over lacks; its status stays as it was", async () => {
    const world = await everyState();
    const history = [(await world.json(["history"])).document].flat();
    const states = history.map(({ taskId, state }) => [taskId, state]);
    for (const [word] of OPEN) expect(states).toContainEqual([`task_${word}`, word]);
    for (const over of ["failed", "saved"]) expect(states).toContainEqual([`task_${over}`, undefined]);
    const { document } = await world.json(["status", "task_waiting"]);
    expect(document).toMatchObject({ ok: true, status: "running", state: "waiting" });
  });

  it("is what history lists under --unfinished, and what --status takes", async () => {
    const world = await everyState();
    const words = async (...flags: string[]) =>
      [(await world.json(["history", ...flags])).document].flat().map(({ request }) => request?.prompt);
    expect((await words("--unfinished")).sort()).toEqual(OPEN.map(([word]) => word).sort());
    expect((await words("--status", "unfinished")).sort()).toEqual(OPEN.map(([word]) => word).sort());
    for (const word of ["waiting", "accepted", "made", "unknown"])
      expect(await words("--status", word)).toEqual([word]);
    expect((await words("--status", "running")).sort()).toEqual(["accepted", "running", "waiting"]);
    expect(await words("--status", "failed")).toEqual(["failed"]);
    expect((await world.run(["history", "--unfinished", "--status", "made"])).code).toBe(2);
  });

  it("is counted by doctor", async () => {
    const world = await everyState();
    const { document } = await world.json(["doctor"]);
    const checks = [document.checks ?? []].flat();
    expect(checks.find(({ name }) => String(name) === "tasks")?.message).toBe(
      "4 tasks are unfinished (1 waiting, 1 running, 1 accepted, 1 made). The outcome of 1 request is unknown.",
    );
  });
});

describe("a free task", () => {
  it("is never called charged: in the history it is free, and counts nothing", async () => {
    const world = await commandWorld({}, { ...NO_ACCOUNT, IMGGEN_GENERATOR: "http://127.0.0.1:9" });
    await leaveAtGenerator(world, [started, { ...completed, urls: [] }, saved], { work: FREE, credits: 0 });
    const { stdout } = await world.run(["history"]);
    expect(stdout).toMatch(/completed +free /);
    expect((await world.run(["history", "--summary"])).stdout).toMatch(/^total +1 +0 +free$/m);
    expect((await world.json(["history", "--summary"])).document.total).toMatchObject({
      credits: 0,
      undocumented: 0,
      free: 1,
    });
  });
});
