import { readFile, rm } from "node:fs/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { ClaimedTask } from "../../../src/core/engine/claimed-task.ts";
import { TaskFile } from "../../../src/store/task-file.ts";
import { ledgerWorld } from "../../support/ledger-world.ts";
import { INTENT, LINES, WORK } from "../../support/records.ts";

const { accepted, completed, saved, not_sent, waiting } = LINES;
const FULL = Object.assign(new Error("full"), { code: "ENOSPC" });
const AFTER_MS = 61_000;

/** A task that process 1 holds, and process 2 that may take it over once that is stopped for a minute. */
async function heldTask(work = {}) {
  const world = await ledgerWorld(2);
  const owned = await world.ledger.begin({ ...INTENT, ...WORK, ...work });
  onTestFinished(() => owned.file.closeIfPossible());
  const warnings: string[] = [];
  const held = new ClaimedTask(world.ledger, owned, (message) => void warnings.push(message));
  const text = () => readFile(owned.file.path, "utf8");
  const types = async () => [...(await text()).matchAll(/^\{"type":"(\w+)"/gm)].map(([, type]) => type);
  /** Process 2 takes the task, whose holder is stopped. */
  const takeOver = async () => {
    world.clock.advance(AFTER_MS);
    const other = world.as(2);
    const taken = await other.take(held.task);
    if (typeof taken === "string") throw new Error(taken);
    onTestFinished(() => taken.file.closeIfPossible());
    return { other, taken };
  };
  return { ...world, owned, held, warnings, text, types, takeOver };
}

describe("a task that this process holds", () => {
  it("is free for the next process when it is left unfinished", async () => {
    const { held, as } = await heldTask();
    await held.record(accepted);
    await held.release();
    expect(await as(2).take(held.task)).toMatchObject({ part: 2, task: { state: "accepted" } });
  });

  it("whose file cannot be written is reported once, with the job's id, and the work continues", async () => {
    const { held, owned, warnings } = await heldTask();
    owned.file.close();
    expect(await held.record(accepted)).toBe(false);
    await held.record(completed);
    expect(warnings).toEqual([expect.stringMatching(/job id, by which the task can be resumed: task-1/)]);
    expect(held.task.state).toBe("completed");
    expect(held.unwrittenError).toMatchObject({
      type: "save_failed",
      charged: "yes",
      hint: expect.stringContaining("task-1"),
    });
  });

  it("names a job whose id cannot be written, though an earlier line was refused before", async () => {
    const { held, owned, warnings } = await heldTask();
    const recording = vi.spyOn(TaskFile.prototype, "record").mockRejectedValueOnce(FULL);
    await held.record(waiting);
    recording.mockRestore();
    expect(warnings).toHaveLength(1);
    owned.file.close();
    await held.record(accepted);
    expect(warnings).toEqual([expect.any(String), expect.stringContaining("task-1")]);
  });

  it("has with a later line what the disk refused for a while", async () => {
    const { held, ledger, warnings, types } = await heldTask();
    const recording = vi.spyOn(TaskFile.prototype, "record").mockRejectedValue(FULL);
    await held.record(accepted);
    recording.mockRestore();
    await held.record(completed);
    expect(warnings).toHaveLength(1);
    expect(held.unwrittenError).toBeNull();
    expect(await types()).toEqual(["intent", "accepted", "completed"]);
    await held.record(saved);
    await held.release();
    expect(await ledger.unfinished()).toEqual([]);
  });

  it("stays among the unfinished if its end could not be written", async () => {
    const { held, ledger, owned } = await heldTask();
    await held.record(accepted);
    owned.file.close();
    await held.record(saved);
    await held.release();
    expect(await ledger.unfinished()).toMatchObject([{ task: { state: "accepted" } }]);
  });
});

describe("an attempt to submit a request", () => {
  it("has a name of its own, and is on disk before it is made", async () => {
    const { held, types } = await heldTask({ requests: 2 });
    expect(await held.start(0)).toBe("1.0");
    await held.record(waiting);
    expect(await held.start(0)).toBe("1.1");
    expect(await held.start(1)).toBe("1.2");
    expect(await types()).toEqual(["intent", "started", "waiting", "started", "started"]);
  });

  it("is not to be made if the disk refuses its line, whether or not that is there", async () => {
    const { held, types } = await heldTask();
    const recording = vi.spyOn(TaskFile.prototype, "record").mockRejectedValueOnce(FULL);
    expect(await held.start(0)).toMatchObject({ type: "save_failed", charged: "no" });
    recording.mockRestore();
    expect(held.task.state).toBe("waiting");
    await held.record(not_sent);
    expect(await types()).toEqual(["intent", "waiting", "not_sent"]);
  });

  it("is not made if the disk fails after its line, and counts as not sent", async () => {
    const { held, ledger, types } = await heldTask();
    let reads = 0;
    const hasLastPart = ledger.hasLastPart.bind(ledger);
    vi.spyOn(ledger, "hasLastPart").mockImplementation((owned) => {
      reads += 1;
      if (reads === 3) throw Object.assign(new Error("i/o error"), { code: "EIO" });
      return hasLastPart(owned);
    });
    expect(await held.start(0)).toMatchObject({
      type: "save_failed",
      charged: "no",
      message: expect.not.stringMatching(/cannot be used.*cannot be used/),
    });
    expect([held.task.state, held.charged]).toEqual(["waiting", "no"]);
    expect(await types()).toEqual(["intent", "started", "waiting"]);
  });

  it("is not to be made while the disk refuses an earlier line", async () => {
    const { held, types, warnings } = await heldTask();
    const recording = vi.spyOn(TaskFile.prototype, "record").mockRejectedValue(FULL);
    await held.start(0);
    await held.record(waiting);
    expect(warnings).toEqual([expect.stringContaining("not sent")]);
    expect(await held.start(0)).toMatchObject({ type: "save_failed", charged: "no" });
    recording.mockRestore();
    expect(await types()).toEqual(["intent"]);
  });

  it("is not to be made once another process has ended the task", async () => {
    const { held, owned } = await heldTask();
    await rm(owned.file.path);
    expect(await held.start(0)).toMatchObject({ name: "TakenOverError", charged: "no" });
  });

  it("is not to be made if another process takes the task at the very moment of its line, and counts as not sent", async () => {
    const { held, takeOver, types } = await heldTask();
    const { record } = TaskFile.prototype;
    const taking: unknown[] = [];
    const recording = vi.spyOn(TaskFile.prototype, "record").mockImplementation(async function (
      this: TaskFile,
      line,
    ) {
      if (line.type === "started" && taking.length === 0) taking.push(await takeOver());
      await record.call(this, line);
    });
    onTestFinished(() => recording.mockRestore());
    expect(await held.start(0)).toMatchObject({ name: "TakenOverError", charged: "no" });
    expect(await types()).toEqual(["intent", "started", "waiting"]);
  });
});
