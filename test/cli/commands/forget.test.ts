import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { RowClaims } from "../../../src/store/row-claims.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { leaveAtGenerator } from "../../support/generator-task.ts";
import { ledgerOf } from "../../support/left-task.ts";
import { LINES } from "../../support/records.ts";

const { started, unknown } = LINES;
const OLD = "20200101T120000000-00000000";

const world = () => commandWorld({}, { ...NO_ACCOUNT, IMGGEN_GENERATOR: "http://127.0.0.1:9" });
type World = Awaited<ReturnType<typeof world>>;

/** Leaves a task that was cancelled, and so is finished. */
async function finished(at: World, taskId: string): Promise<string> {
  const id = await leaveAtGenerator(at, [], { work: { taskId } });
  expect((await at.run(["cancel", id])).code).toBe(0);
  return id;
}

const tasksFolder = ({ home }: World) => path.join(home, "state", "tasks");
const names = async (folder: string) =>
  existsSync(folder)
    ? (await readdir(folder, { recursive: true })).filter((name) => /\.jsonl$/.test(name))
    : [];

describe("imggen forget", () => {
  it("removes a finished task with its parts, replies and kept copies", async () => {
    const at = await world();
    const id = await finished(at, "task_fox");
    const folder = tasksFolder(at);
    for (const place of [`work/${id}/0-1.0`, `kept/${id}-0`]) {
      await mkdir(path.join(folder, place), { recursive: true });
      await writeFile(path.join(folder, place, "reply"), "an image");
    }
    expect(await at.run(["forget", "task_fox"])).toEqual({
      code: 0,
      stdout: "1 task forgotten\n",
      stderr: "",
    });
    expect(await names(folder)).toEqual([]);
    expect([await readdir(path.join(folder, "work")), await readdir(path.join(folder, "kept"))]).toEqual([
      [],
      [],
    ]);
    expect((await at.json(["history"])).document).toEqual([]);
    expect(await at.run(["forget", "task_fox"])).toMatchObject({ code: 2 });
  });

  it("leaves the day's spending as it is", async () => {
    const at = await world();
    const id = await finished(at, "task_fox");
    const charge = { task: id, request: 0, part: 1, keyId: "k", credits: 3 };
    await ledgerOf(at.home).spending.announce("2026-01-31", charge, null);
    expect((await at.run(["forget", id])).code).toBe(0);
    expect(await ledgerOf(at.home).spending.total("2026-01-31", "k")).toBe(3);
  });

  it.each([
    ["open", [], {}, "it is not finished"],
    ["of unknown outcome", [started, unknown], {}, "its outcome is unknown"],
  ] as const)("refuses a task that is %s, and then removes nothing", async (_what, lines, more, why) => {
    const at = await world();
    await finished(at, "task_one");
    await leaveAtGenerator(at, lines, { work: { taskId: "task_two", ...more } });
    const before = await names(tasksFolder(at));
    const { code, stderr } = await at.run(["forget", "task_one", "task_two"]);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`Task task_two cannot be forgotten: ${why}.`),
    ]);
    expect(stderr).toContain("Nothing was removed.");
    expect(await names(tasksFolder(at))).toEqual(before);
  });

  it("refuses a task that a server began less than 7 days ago", async () => {
    const at = await world();
    const id = await leaveAtGenerator(at, [], {
      work: { taskId: "task_fox", ...({ server: "abc" } as object) },
    });
    await at.run(["cancel", id]);
    expect(await at.run(["forget", id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("imggen serve began it less than 7 days ago"),
    });
  });

  it("with --before takes no ids, needs --yes without a terminal, and counts what it keeps", async () => {
    const at = await world();
    await finished(at, "task_one");
    await leaveAtGenerator(at, [], { work: { taskId: "task_two" } });
    expect(await at.run(["forget", "task_one", "--before", "30d"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("--before cannot be combined with task ids."),
    });
    const early = ["forget", "--before", "30d", "--yes", "--json"];
    expect((await at.json(early)).document).toEqual({ ok: true, forgotten: 0, skipped: 0 });
    expect(await at.run(["forget", "--before", "0m"])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("would remove the records of 1 task. Nothing was removed."),
    });
    expect((await names(tasksFolder(at))).length).toBe(3);
    expect(await at.json(["forget", "--before", "0m", "--yes"])).toMatchObject({
      code: 0,
      document: { ok: true, forgotten: 1, skipped: 1 },
    });
    expect((await at.json(["history"])).document).toMatchObject([{ taskId: "task_two" }]);
  });

  it("removes the intent that a killed process left beside a finished task, which would wait to be submitted", async () => {
    const at = await world();
    const id = await leaveAtGenerator(at, [], { work: { taskId: "task_fox" } });
    const ledger = ledgerOf(at.home);
    const open = path.join(tasksFolder(at), "open", `${id}.jsonl`);
    const intent = `${(await readFile(open, "utf8")).split("\n", 1)[0]}\n`;
    await at.run(["cancel", id]);
    await writeFile(open, intent);
    expect((await at.run(["forget", id])).code).toBe(0);
    expect(await ledger.unfinished()).toEqual([]);
  });

  it("goes on where a killed process has ended: the record was out of the ledger whole", async () => {
    const at = await world();
    const folder = tasksFolder(at);
    await leaveAtGenerator(at, [], {});
    await at.run(["cancel", "--all", "--yes"]);
    const before = await names(folder);
    const leftovers = [`kept/${OLD}-0`, `work/${OLD}`, "parts/2020-01-01/1200", "forgotten"];
    for (const place of leftovers) await mkdir(path.join(folder, place), { recursive: true });
    await writeFile(path.join(folder, "forgotten", `${OLD}.p2.jsonl`), "{}\n");
    await writeFile(path.join(folder, "parts/2020-01-01/1200", `${OLD}.2.jsonl`), "{}\n");
    expect((await at.run(["resume"])).code).toBe(0);
    expect(await names(folder)).toEqual(before);
    for (const place of leftovers.slice(0, 2)) expect(existsSync(path.join(folder, place))).toBe(false);
  });

  it("leaves a batch's row saved: the batch submits nothing again", async () => {
    const at = await commandWorld();
    await writeFile(path.join(at.cwd, "prompts.txt"), "a fox\nan owl\n");
    const batch = ["batch", "prompts.txt", "--output", "out", "--sandbox"];
    expect((await at.run(batch)).code).toBe(0);
    const images = await readdir(path.join(at.cwd, "out"));
    expect((await at.run(["forget", "--before", "0m", "--yes", "--sandbox"])).stdout).toBe(
      "2 tasks forgotten\n",
    );
    expect((await at.run(batch)).code).toBe(0);
    expect((await at.json(["history", "--sandbox"])).document).toEqual([]);
    expect(await readdir(path.join(at.cwd, "out"))).toEqual(images);
  });

  it("records in a row's claim how its task ended, if a killed process has not, and before the record is gone", async () => {
    const at = await commandWorld();
    await writeFile(path.join(at.cwd, "prompts.txt"), "a fox\n");
    const batch = ["batch", "prompts.txt", "--output", "out", "--sandbox"];
    expect((await at.run(batch)).code).toBe(0);
    const folder = path.join(tasksFolder(at), "batches");
    const [name = ""] = (await readdir(folder, { recursive: true })).filter((each) => /-1\.1$/.test(each));
    const claim = path.join(folder, name);
    const text = await readFile(claim, "utf8");
    const [intent, begun, , end] = text.split("\n");
    expect([begun, end]).toEqual(['{"type":"begun"}', expect.stringContaining('"started"')]);
    const forget = ["forget", "--before", "0m", "--yes", "--sandbox"];
    await rm(claim);
    await mkdir(claim);
    expect((await at.run(forget)).code).not.toBe(0);
    expect((await at.json(["history", "--sandbox"])).document).toHaveLength(1);
    await rm(claim, { recursive: true });
    await writeFile(claim, `${intent}\n${begun}\n`);
    expect((await at.run(forget)).stdout).toBe("1 task forgotten\n");
    const images = await readdir(path.join(at.cwd, "out"));
    expect((await at.run(batch)).code).toBe(0);
    expect(await readdir(path.join(at.cwd, "out"))).toEqual(images);
  });

  it("leaves a row saved that has taken a task of another command", async () => {
    const at = await world();
    const id = await finished(at, "task_fox");
    const claims = new RowClaims(tasksFolder(at), "0abc");
    await claims.claim("12-1", 1, { id, intent: null, at: "2026-01-31T12:00:00.000Z" });
    expect((await at.run(["forget", id])).code).toBe(0);
    expect(await claims.read("12-1", 1)).toMatchObject({ kind: "task", task: { id, state: "cancelled" } });
    expect((await claims.load()).get("12-1")).toEqual([id]);
  });
});
