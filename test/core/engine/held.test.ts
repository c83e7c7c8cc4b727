import { readFile, rm, writeFile } from "node:fs/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { coverMs, TaskWriter } from "../../../src/core/engine/task-writer.ts";
import { ledgerWorld } from "../../support/ledger-world.ts";
import { AT, EVENTS, INTENT, linesOf } from "../../support/records.ts";

const { intent, accepted, completed, saved } = EVENTS;

async function newJournal() {
  const { ledger } = await ledgerWorld();
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

const SUBMIT_MS = 120_000;

async function newAttempt() {
  const { ledger, clock } = await ledgerWorld();
  const task = await ledger.begin(INTENT, coverMs(SUBMIT_MS));
  onTestFinished(() => task.file.closeIfPossible());
  const troubles: string[] = [];
  const writer = new TaskWriter(ledger, task, (message) => void troubles.push(message));
  const begin = () => writer.beginAttempt(SUBMIT_MS);
  const lines = async () => {
    const text = await readFile(task.file.path, "utf8");
    return text
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line));
  };
  const types = async () => (await lines()).map(({ type }) => type);
  return { begin, clock, ledger, task, writer, troubles, lines, types };
}

const msLater = (ms: number) => new Date(Date.parse(AT) + ms).toISOString();

describe("an attempt to submit a request", () => {
  it("needs no record where the intent covers it, which says so", async () => {
    const { begin, lines } = await newAttempt();
    expect(await begin()).toBeNull();
    expect(await lines()).toMatchObject([{ type: "intent", until: msLater(coverMs(SUBMIT_MS)) }]);
  });

  it("is recorded before it is made where the intent covers it no longer", async () => {
    const { begin, clock, types } = await newAttempt();
    clock.advance(coverMs(SUBMIT_MS) - SUBMIT_MS + 1);
    expect(await begin()).toBeNull();
    expect(await types()).toEqual(["intent", "submitting"]);
    expect(await begin()).toBeNull();
    expect(await types()).toEqual(["intent", "submitting"]);
  });

  it("that follows a 429 is recorded in any case, and the 429 before it", async () => {
    const { begin, clock, lines, writer } = await newAttempt();
    await writer.rateLimited("busy", 5_000);
    clock.advance(5_000);
    expect(await begin()).toBeNull();
    const [, limited, submitting] = await lines();
    expect(limited).toMatchObject({ type: "rate_limited", at: AT, why: "busy" });
    expect(Date.parse(limited.until)).toBeGreaterThan(Date.parse(AT) + 5_000);
    const until = msLater(5_000 + coverMs(SUBMIT_MS));
    expect(submitting).toEqual({ type: "submitting", at: msLater(5_000), until });
  });

  it("is not to be made where the disk refuses its record", async () => {
    const { begin, task, writer } = await newAttempt();
    await writer.rateLimited("busy", 0);
    task.file.record = () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
    expect(await begin()).toMatchObject({ type: "save_failed", charged: "no" });
    expect(writer.record.state.name).toBe("rate_limited");
  });

  it("is not to be made where the disk has refused the record of the 429, and refuses it still", async () => {
    const { begin, task, troubles, writer } = await newAttempt();
    task.file.record = () => Promise.reject(Object.assign(new Error("full"), { code: "ENOSPC" }));
    await writer.rateLimited("busy", 0);
    expect(troubles).toEqual([expect.stringContaining("was not submitted again")]);
    expect(await begin()).toMatchObject({ type: "save_failed", charged: "no" });
  });

  it.each(["claimed it", "put it away"])(
    "is not to be made where another process has %s while this one waited",
    async (how) => {
      const { begin, task, writer } = await newAttempt();
      await writer.rateLimited("busy", 0);
      if (how === "claimed it") await writeFile(task.file.path.replace(/jsonl$/, "claim-1"), "{}");
      else await rm(task.file.path);
      expect(await begin()).toMatchObject({ name: "TakenOverError", charged: "no" });
    },
  );

  it("is not to be made where another process has claimed it at the very moment of its record", async () => {
    const { begin, task, types, writer } = await newAttempt();
    await writer.rateLimited("busy", 0);
    const { record } = task.file;
    task.file.record = async (event) => {
      await writeFile(task.file.path.replace(/jsonl$/, "claim-1"), "{}");
      await record.call(task.file, event);
    };
    expect(await begin()).toMatchObject({ name: "TakenOverError", charged: "no" });
    expect(await types()).toEqual(["intent", "rate_limited", "submitting"]);
  });
});
