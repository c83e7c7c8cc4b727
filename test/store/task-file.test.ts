import { readdir, readFile, rename, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { TaskFile } from "../../src/store/task-file.ts";
import { readTaskLines } from "../../src/store/task-lines.ts";
import type { Line } from "../../src/task/line.ts";
import { AT, LINES, linesOf } from "../support/records.ts";
import { countSyncs, replaceCall } from "../support/system-calls.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const { intent, accepted, completed, saved } = LINES;
const noRoom = () => {};

const newPath = async () => path.join(await temporaryFolder(), "task.jsonl");

describe("a task's file", () => {
  it("is created with its first record, for its owner's eyes only", async () => {
    const file = await newPath();
    (await TaskFile.create(file, intent, noRoom)).close();
    expect(await readFile(file, "utf8")).toBe(linesOf(intent));
    expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  it("that exists belongs to another task, and is left alone", async () => {
    const file = await newPath();
    await writeFile(file, "theirs");
    await expect(TaskFile.create(file, intent, noRoom)).rejects.toMatchObject({ code: "EEXIST" });
    expect(await readFile(file, "utf8")).toBe("theirs");
  });

  it("is removed again if its first line cannot be written, but for a further part: another one may follow it", async () => {
    replaceCall("fsync", () => (_fd: number, callback: (error: Error | null) => void) => {
      callback(Object.assign(new Error("broken"), { code: "EIO" }));
    });
    const file = await newPath();
    await expect(TaskFile.create(file, intent, noRoom)).rejects.toThrow("broken");
    expect(await readdir(path.dirname(file))).toEqual([]);
    await expect(TaskFile.createPart(file, LINES.taken, noRoom)).rejects.toThrow("broken");
    expect(await readdir(path.dirname(file))).toEqual([path.basename(file)]);
  });

  it("is known to be where it was created, until it is moved or another one is in its place", async () => {
    const file = await newPath();
    const task = await TaskFile.create(file, intent, noRoom);
    expect(task.isInPlace()).toBe(true);
    await rename(file, `${file}.moved`);
    expect(task.isInPlace()).toBe(false);
    await writeFile(file, linesOf(intent));
    expect(task.isInPlace()).toBe(false);
    await rename(`${file}.moved`, file);
    expect(task.isInPlace()).toBe(true);
    task.close();
  });

  it("says that it was released, also after a line that was cut short", async () => {
    const file = await newPath();
    await writeFile(file, `${linesOf(intent)}{"ty`);
    const task = await TaskFile.reopen(file, noRoom);
    task.release(AT);
    expect(await readFile(file, "utf8")).toBe(`${linesOf(intent)}{"ty\n${linesOf(LINES.released)}`);
  });

  it("holds every record, synced, when `record` returns", async () => {
    const file = await newPath();
    const syncs = countSyncs();
    const task = await TaskFile.create(file, intent, noRoom);
    const written: Line[] = [intent];
    expect(syncs()).toBe(1);
    for (const line of Object.values(LINES).filter((each) => each !== intent)) {
      written.push(line);
      await task.record(line);
      expect([await readFile(file, "utf8"), syncs()]).toEqual([linesOf(...written), written.length]);
    }
    task.close();
  });

  it("with a torn last line goes on on a fresh one, and only then", async () => {
    const file = await newPath();
    const torn = linesOf(completed).slice(0, 25);
    await writeFile(file, linesOf(intent, accepted) + torn);
    const task = await TaskFile.reopen(file, noRoom);
    await task.record(completed);
    await task.record(saved);
    task.close();
    expect(await readFile(file, "utf8")).toBe(
      `${linesOf(intent, accepted)}${torn}\n${linesOf(completed, saved)}`,
    );
    expect(readTaskLines("x", [await readFile(file, "utf8")])).toMatchObject({ task: { state: "saved" } });
  });

  it("that is gone cannot be taken up, and is not created again", async () => {
    const file = await newPath();
    await expect(TaskFile.reopen(file, noRoom)).rejects.toMatchObject({ code: "ENOENT" });
    expect(await readdir(path.dirname(file))).toEqual([]);
  });
});
