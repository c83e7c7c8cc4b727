import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../../src/api/api-errors.ts";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import { accepts } from "../../support/batch-world.ts";
import { finishTask } from "../../support/finish-task.ts";
import { LINES } from "../../support/records.ts";
import { inTurn, late } from "../../support/scripts.ts";
import { begunByOther, newRun } from "./batch-run.ts";
import { newRows } from "./some-rows.ts";

const foxes = (count: number) => newRows(...Array.from({ length: count }, (_, index) => `fox ${index}`));

describe("running a batch's rows", () => {
  it("has only so many in flight at once", async () => {
    let underWay = 0;
    let most = 0;
    const { go } = await newRun();
    await go(foxes(9), {
      concurrency: 2,
      onStart() {
        underWay += 1;
        most = Math.max(most, underWay);
      },
      async onEnd() {
        await new Promise(setImmediate);
        underWay -= 1;
      },
    });
    expect(most).toBe(2);
  });

  it("begins nothing more after a signal, and returns what it did not come to", async () => {
    const { go, ends, server, world } = await newRun();
    const rows = foxes(6);
    const left = await go(rows, {
      concurrency: 1,
      async onEnd(end) {
        ends.push(end);
        if (ends.length === 2) world.interrupt();
      },
    });
    expect(left).toEqual(rows.slice(2));
    expect(server.submits()).toHaveLength(2);
  });

  it("does not report a row that a signal stopped before anything of it was begun", async () => {
    const { go, ends, run, world } = await newRun();
    run.deps.gate.report(
      { isProbe: false },
      { outcome: "rate_limited", retryAfterMs: 5000, error: new ServiceError("busy") },
      run.deps.signal,
      "",
    );
    run.deps.clock.sleep = async (_ms, signal) => {
      world.interrupt();
      signal?.throwIfAborted();
    };
    const rows = foxes(2);
    expect(await go(rows, { concurrency: 1 })).toEqual(rows);
    expect(ends).toEqual([]);
  });

  it("begins nothing more where a result cannot be told, and fails once what is in flight is saved", async () => {
    const { go, server, world } = await newRun({ submit: inTurn(accepts, late(600, accepts)) });
    let told = 0;
    const running = go(foxes(20), {
      concurrency: 3,
      async onEnd() {
        told += 1;
        if (told === 1) throw new Error("the disk is full");
      },
    });
    await expect(running).rejects.toThrow("the disk is full");
    expect(told).toBe(3);
    expect(server.submits()).toHaveLength(3);
    expect(await readdir(world.output)).toHaveLength(3);
  });
});

describe("a row that another process is at work on", () => {
  it("is waited for after all others, and is saved when that one has saved it", async () => {
    const batch = await newRun();
    const rows = foxes(3);
    const task = await begunByOther(batch, rows[0] as PlannedRow);
    const sleep = batch.world.clock.sleep;
    let looks = 0;
    batch.run.deps.clock.sleep = async (ms, signal) => {
      if (ms === 300 && ++looks === 3) {
        for (const line of [LINES.started, LINES.accepted, LINES.completed, LINES.saved])
          await task.file.record(line);
        await finishTask(batch.other.deps.ledger, task);
      }
      return sleep(ms, signal);
    };
    expect(await batch.go(rows, { concurrency: 1 })).toEqual([]);
    expect(batch.ends.map(({ row, state }) => [row.row, state])).toEqual([
      [2, "saved"],
      [3, "saved"],
      [1, "saved"],
    ]);
    expect(batch.started).toHaveLength(3);
    expect(batch.server.submits()).toHaveLength(2);
  });

  it("is taken over where that one has died", async () => {
    const batch = await newRun();
    const rows = foxes(1);
    const task = await begunByOther(batch, rows[0] as PlannedRow);
    await task.file.record(LINES.started);
    await task.file.record({ ...LINES.accepted, taskId: "task-of-the-other" });
    const sleep = batch.world.clock.sleep;
    batch.run.deps.clock.sleep = (ms, signal) => {
      if (ms === 300) batch.processes.die(2);
      return sleep(ms, signal);
    };
    expect(await batch.go(rows)).toEqual([]);
    expect(batch.ends).toMatchObject([
      { state: "saved", report: { taskId: "task-of-the-other" }, isSubmitted: false },
    ]);
    expect(batch.server.submits()).toEqual([]);
    batch.other.deps.ledger.release(task, true);
  });

  it("is reported as unfinished when patience ends, and is not submitted", async () => {
    const batch = await newRun();
    const rows = foxes(2);
    const task = await begunByOther(batch, rows[0] as PlannedRow);
    expect(await batch.go(rows, { timeoutMs: 3000 })).toEqual([]);
    expect(batch.ends).toMatchObject([
      { row: { row: 2 }, state: "saved" },
      { row: { row: 1 }, state: "waiting", error: { type: "pending", charged: "unknown" } },
    ]);
    expect(batch.server.submits()).toHaveLength(1);
    batch.other.deps.ledger.release(task, true);
  });

  it("is not waited for any longer after a signal", async () => {
    const batch = await newRun();
    const rows = foxes(1);
    const task = await begunByOther(batch, rows[0] as PlannedRow);
    batch.run.deps.clock.sleep = async (_ms, signal) => {
      batch.world.interrupt();
      signal?.throwIfAborted();
    };
    expect(await batch.go(rows)).toEqual(rows);
    expect(batch.ends).toEqual([]);
    batch.other.deps.ledger.release(task, true);
  });
});
