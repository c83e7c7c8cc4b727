import { randomBytes } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { ClaimedTask } from "../../../src/core/engine/claimed-task.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { isJsonObject, jsonOrNull } from "../../../src/lib/json.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import { begunTask } from "../../support/ledger-world.ts";
import { AT, LINES } from "../../support/records.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { tinyDisk } from "../../support/tiny-disk.ts";

const { waiting, not_sent, accepted } = LINES;

async function heldIn(folder: string) {
  const ledger = new Ledger(folder, systemClock, someProcesses(1).as(1));
  const owned = await begunTask(ledger);
  const types = async () => {
    const lines = (await readFile(owned.file.path, "utf8")).split("\n").slice(1).map(jsonOrNull);
    // A write that failed may have left the beginning of a line.
    return lines.filter(isJsonObject).map(({ type }) => type);
  };
  return { held: new ClaimedTask(ledger, owned, () => {}), types };
}

/** Takes all the room that is left. */
async function fill(folder: string): Promise<void> {
  const handle = await open(path.join(folder, "filler"), "a");
  const block = randomBytes(4096);
  try {
    for (;;) await handle.write(block);
  } catch {
    await handle.close();
  }
}

describe("the lines of a task that is held", () => {
  it("has every line once, and whole, if two of its requests have one at the same time", async () => {
    const { held, types } = await heldIn(await temporaryFolder());
    await Promise.all([held.record(accepted), held.record(not_sent), held.record(waiting)]);
    expect(await types()).toEqual(["accepted", "not_sent", "waiting"]);
  });

  it("does not end on a full disk without the answer to an attempt before", async ({ skip }) => {
    const folder = tinyDisk(256) ?? skip("needs permission to mount");
    const { held, types } = await heldIn(folder);
    const attempt = await held.start(0);
    expect(attempt).toBeTypeOf("string");
    await fill(folder);
    const answer = { ...waiting, at: AT, attempt: String(attempt), why: "x".repeat(4096) };
    expect(await held.record(answer)).toBe(false);
    expect(await held.record(not_sent)).toBe(true);
    expect(await types()).toEqual(["started", "waiting", "not_sent"]);
  });
});
