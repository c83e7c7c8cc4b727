import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { chargedTasks, recentTasks } from "../../../src/core/use-cases/history.ts";
import { DiskFile } from "../../../src/lib/disk-file.ts";
import type { Intent } from "../../../src/task/intent.ts";
import type { Line } from "../../../src/task/line.ts";
import { ledgerWorld, leftTask } from "../../support/ledger-world.ts";
import { INTENT, LINES } from "../../support/records.ts";

const { started, accepted, refused, not_sent, unknown, failed, saved } = LINES;

async function newLedger() {
  const { ledger, clock } = await ledgerWorld();
  /** Puts a task in the ledger, a second after the one before. */
  const put = async (lines: Line[], intent: Partial<Intent> = {}) => {
    clock.advance(1000);
    return (await leftTask(ledger, intent, ...lines)).task.id;
  };
  return { ledger, put };
}

describe("the recent tasks", () => {
  it("are those that were or may have been charged, newest first", async () => {
    const { ledger, put } = await newLedger();
    const ids = [
      await put([accepted, saved]),
      await put([started]),
      await put([unknown]),
      await put([accepted, failed]),
      await put([accepted]),
    ];
    await put([]);
    await put([refused]);
    await put([not_sent]);
    const { records, unreadable } = await recentTasks(ledger, 20);
    expect(records.map(({ id }) => id)).toEqual(ids.reverse());
    expect(unreadable).toEqual([]);
  });

  it("end at the first that is older than asked for, and what lies before it is not read", async () => {
    const { ledger, put } = await newLedger();
    await put([accepted, saved]);
    const since = ledger.clock.now() + 500;
    const id = await put([accepted, saved]);
    const read = vi.spyOn(DiskFile, "openToRead");
    onTestFinished(() => read.mockRestore());
    const { records } = await recentTasks(ledger, 20, { sinceMs: since, search: "FOX" });
    expect(records.map((record) => record.id)).toEqual([id]);
    expect(read.mock.calls.length).toBe(2);
  });

  it("pass those of other services over, and count them", async () => {
    const { ledger, put } = await newLedger();
    const other = { service: { ...INTENT.service, baseUrl: "sandbox" } };
    const id = await put([accepted]);
    await put([accepted], other);
    const isOfService = ({ baseUrl }: { baseUrl: string }) => baseUrl !== "sandbox";
    const { records } = await recentTasks(ledger, 20, { isOfService });
    expect(records.map((record) => record.id)).toEqual([id]);
    let elsewhere = 0;
    for await (const found of chargedTasks(ledger, { isOfService }))
      if (found === "elsewhere") elsewhere += 1;
    expect(elsewhere).toBe(1);
  });

  it("come with the files that want a word", async () => {
    const { ledger, put } = await newLedger();
    await put([accepted]);
    const file = path.join(ledger.folder, "open", "notes.txt");
    await writeFile(file, "mine");
    expect((await recentTasks(ledger, 20)).unreadable).toEqual([{ kind: "foreign", file }]);
  });
});
