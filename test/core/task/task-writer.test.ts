import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { TaskWriter } from "../../../src/core/task/task-writer.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { EVENTS, INTENT, linesOf } from "../../support/records.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const { intent, accepted, completed, saved } = EVENTS;

async function newJournal() {
  const ledger = new Ledger(await temporaryFolder(), fakeClock(), someProcesses(1).as(1));
  const task = await ledger.begin(INTENT);
  const troubles: string[] = [];
  const writer = new TaskWriter(ledger, task, (message) => void troubles.push(message));
  return { ledger, task, troubles, writer };
}

describe("a task's writer", () => {
  it("has each event on disk, and knows how far the task has come", async () => {
    const { writer, task } = await newJournal();
    await writer.write(accepted);
    await writer.write(completed);
    expect(await readFile(task.file.path, "utf8")).toBe(linesOf(intent, accepted, completed));
    expect(writer.record.state.name).toBe("completed");
    await writer.release();
  });

  it("puts a finished task away", async () => {
    const { writer, ledger, troubles } = await newJournal();
    await writer.write(accepted);
    await writer.write(saved);
    await writer.finish();
    expect(await ledger.unfinished()).toEqual([]);
    expect(troubles).toEqual([]);
  });

  it("that cannot be written is reported once, with the id, and the work continues", async () => {
    const { writer, task, troubles } = await newJournal();
    await task.file.close();
    await writer.write(accepted);
    await writer.write(completed);
    expect(troubles).toEqual([expect.stringContaining("task-1")]);
    expect(writer.record.state.name).toBe("completed");
  });

  it("takes along with a later event what the disk refused for a while", async () => {
    const { writer, ledger, task, troubles } = await newJournal();
    const { record } = task.file;
    task.file.record = () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
    await writer.write(accepted);
    task.file.record = record.bind(task.file);
    await writer.write(completed);
    expect(troubles).toHaveLength(1);
    expect(await readFile(task.file.path, "utf8")).toBe(linesOf(intent, accepted, completed));
    await writer.write(saved);
    await writer.finish();
    expect(await ledger.unfinished()).toEqual([]);
  });

  it("has on a full disk what matters most, though the record before it had no room", async () => {
    const { writer, task } = await newJournal();
    const { record } = task.file;
    const full = Object.assign(new Error("full"), { code: "ENOSPC" });
    // The reserve is released for all others.
    task.file.record = (event) =>
      event.type === "rate_limited" ? Promise.reject(full) : record.call(task.file, event);
    await writer.write(EVENTS.rate_limited);
    await writer.write(EVENTS.not_sent);
    expect(await readFile(task.file.path, "utf8")).toBe(linesOf(intent, EVENTS.not_sent));
    await writer.release();
  });

  it("that cannot be written leaves the task among the unfinished", async () => {
    const { writer, ledger, task } = await newJournal();
    await writer.write(accepted);
    await task.file.close();
    await writer.write(saved);
    await writer.finish();
    expect(await ledger.unfinished()).toMatchObject([{ record: { state: { name: "accepted" } } }]);
  });
});
