import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { TransportError } from "../../../src/api/transport.ts";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import type { RowResult } from "../../../src/core/batch/row-result.ts";
import { runRow } from "../../../src/core/batch/run-rows.ts";
import type { BatchContext } from "../../../src/core/batch/submit-row.ts";
import { intentOf } from "../../../src/core/task/submit-and-finish.ts";
import type { TaskEvent } from "../../../src/task/task.ts";
import { accepts } from "../../support/batch-world.ts";
import { finishTask } from "../../support/finish-task.ts";
import { EVENTS } from "../../support/records.ts";
import { failure, type ServiceScript } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, reset, stillRunning, taskIs } from "../../support/scripts.ts";
import { begunByOther, claimedOnly, newRun } from "./batch-run.ts";
import { newRow } from "./some-rows.ts";

/** A run, and a row of it that is new. */
const newBatch = async (script?: ServiceScript) => ({ ...(await newRun(script)), row: newRow() });

async function ended(row: PlannedRow, run: BatchContext): Promise<RowResult> {
  const end = await runRow(row, run);
  if (end === "elsewhere") throw new Error("another process has the row");
  return end;
}

/** The row as a later run finds it, that has never seen it. */
const again = (row: PlannedRow): PlannedRow => ({ ...row, attempts: [...row.attempts] });

/** The same, where the user wants it submitted again if its outcome is unknown. */
const resubmitted = (row: PlannedRow): PlannedRow => ({
  ...again(row),
  resubmit: row.attempts.at(-1) ?? null,
});

describe("a row that is new", () => {
  it("is claimed, submitted and saved, and reported as submitted by this run", async () => {
    const { run, claims, row } = await newBatch();
    expect(await ended(row, run)).toMatchObject({
      state: "saved",
      isSubmitted: true,
      error: null,
      report: { taskId: "task-a-fox", charged: "yes", files: { length: 1 } },
    });
    expect(await claims.load()).toEqual(new Map([[row.key, row.attempts]]));
  });

  it("is begun in the place of whoever claimed it and never did, who is told by a mark", async () => {
    const { run, server, claims, other, processes, row } = await newBatch();
    const id = await claimedOnly(claims, other.deps.ledger, row, processes.as(2).self);
    expect(claims.attempt(row.key, 1).isShared()).toBe(false);
    expect(await ended(row, run)).toMatchObject({ state: "saved", report: { ledgerId: id } });
    expect(claims.attempt(row.key, 1).isShared()).toBe(true);
    expect(server.submits()).toHaveLength(1);
  });

  it("is unknown, and not submitted again, where its claim was damaged, with its task in it", async () => {
    const { run, server, claims, row } = await newBatch();
    await ended(row, run);
    const [file = ""] = (await readdir(run.deps.ledger.folder, { recursive: true })).filter((name) =>
      name.endsWith(`${row.key}.1`),
    );
    const claim = path.join(run.deps.ledger.folder, file);
    await writeFile(claim, "");
    const attempts = (await claims.load()).get(row.key) ?? [];
    const end = await ended({ ...row, attempts }, run);
    expect(end).toMatchObject({ state: "unknown", isSubmitted: false, error: { type: "outcome_unknown" } });
    expect(end.error?.message).toContain(`: ${claim}.`);
    expect(server.submits()).toHaveLength(1);
  });

  it("is of unknown outcome in a later run that the disk does not give its record, and not submitted", async () => {
    const { run, server, row } = await newBatch();
    await ended(row, run);
    const cause = Object.assign(new Error("EIO: i/o error, read"), { code: "EIO" });
    const damaged = { kind: "damaged", file: "task.jsonl", why: "EIO", cause } as const;
    const ledger = Object.create(run.deps.ledger, { read: { value: async () => damaged } });
    const later = { ...run, deps: { ...run.deps, ledger } };
    const end = await ended({ ...again(row), state: "saved" }, later);
    expect(end).toMatchObject({
      ...{ state: "unknown", isSubmitted: false },
      error: { type: "save_failed", charged: "unknown", hint: expect.stringContaining("Nothing was sent.") },
    });
    expect(server.submits()).toHaveLength(1);
  });

  it("is pending where the wait ends before the task does, and another run finishes it", async () => {
    const { run, server, row } = await newBatch({
      poll: inTurn(stillRunning, stillRunning, completedAt("/1.png")),
    });
    const hurried = { ...run, wait: { ...run.wait, timeoutMs: 1000 } };
    const end = await ended(row, hurried);
    expect(end).toMatchObject({ state: "unfinished", isSubmitted: true, report: { charged: "yes" } });
    expect(await ended(again(row), run)).toMatchObject({ state: "saved", isSubmitted: false });
    expect(server.submits()).toHaveLength(1);
  });

  it("is failed where the service refuses it, and new to the next run", async () => {
    const busy = replies(failure("image_generation.error.busy"));
    const { run, server, claims, row } = await newBatch({ submit: inTurn(busy, accepts) });
    const end = await ended(row, run);
    expect(end).toMatchObject({ state: "failed", isSubmitted: true, report: { charged: "no" } });
    expect(run.admission.stopped).toBeNull();
    expect(await ended(again(row), run)).toMatchObject({ state: "saved" });
    expect(server.submits()).toHaveLength(2);
    expect([...(await claims.load()).values()]).toMatchObject([{ length: 2 }]);
  });

  it("is not sent, rather than failed, where the day's limit comes between", async () => {
    const { run, server, row } = await newBatch();
    const limited = { ...run, deps: { ...run.deps, dailyCredits: 1 } };
    expect(await ended(row, limited)).toMatchObject({
      state: "new",
      report: { charged: "no" },
      error: { type: "budget_exceeded" },
    });
    expect(run.admission.stopped?.type).toBe("budget_exceeded");
    expect(server.submits()).toEqual([]);
  });

  it("is not sent where a signal ends the wait for a service that is down", async () => {
    const { run, world, row } = await newBatch();
    const { provider } = run.deps.connection;
    const pass = await run.admission.admit(run.deps.signal);
    pass?.release();
    provider.submit = async () => {
      world.interrupt();
      return { outcome: "not_sent", cause: new TransportError("refused", { sent: false }) };
    };
    expect(await ended(row, run)).toMatchObject({ state: "new", error: { type: "interrupted" } });
  });

  it("reports where its images differ from what was asked", async () => {
    const { run, row } = await newBatch();
    row.checked.request.ratio = "21:9";
    const { report } = await ended(row, run);
    expect(report?.warnings).toEqual([expect.stringContaining("21:9")]);
  });
});

describe("a row that an earlier run has saved", () => {
  async function saved() {
    const batch = await newBatch();
    await ended(batch.row, batch.run);
    const file = path.join(batch.world.output, "a-fox.png");
    return { ...batch, file, requests: batch.server.requests.length };
  }

  it("is skipped without a word to the service", async () => {
    const { run, row, server, requests } = await saved();
    expect(await ended(again(row), run)).toMatchObject({
      isSkipped: true,
      isSubmitted: false,
      error: null,
      report: { taskId: "task-a-fox", files: { length: 1 } },
    });
    expect(server.requests).toHaveLength(requests);
  });

  it("is downloaded again where its image is gone, and not submitted again", async () => {
    const { run, row, server, file, world } = await saved();
    await rm(file);
    expect(await ended(again(row), run)).toMatchObject({ state: "saved", isSubmitted: false });
    expect(await readdir(world.output)).toEqual(["a-fox.png"]);
    expect(server.submits()).toHaveLength(1);
  });

  it("is skipped where its owner has changed the image since", async () => {
    const { run, row, server, file, requests } = await saved();
    await writeFile(file, "retouched");
    expect(await ended(again(row), run)).toMatchObject({ isSkipped: true });
    expect(server.requests).toHaveLength(requests);
  });
});

describe("a row of unknown outcome", () => {
  async function lost() {
    const batch = await newBatch({ submit: inTurn(reset, accepts) });
    const end = await ended(batch.row, batch.run);
    expect(end).toMatchObject({ state: "unknown", report: { charged: "unknown" } });
    return batch;
  }

  it("is left, with what is known of it", async () => {
    const { run, row, server } = await lost();
    for (let time = 0; time < 2; time++) {
      expect(await ended(again(row), run)).toMatchObject({
        state: "unknown",
        isSubmitted: false,
        error: { type: "outcome_unknown", charged: "unknown" },
      });
    }
    expect(server.submits()).toHaveLength(1);
  });

  it("is dismissed and submitted again at the user's request", async () => {
    const { run, row, server, world } = await lost();
    const second = resubmitted(row);
    expect(await ended(second, run)).toMatchObject({ state: "saved", isSubmitted: true });
    expect(second.attempts).toHaveLength(2);
    expect(server.submits()).toHaveLength(2);
    expect(await readdir(path.join(world.stateFolder, "tasks", "open"))).toEqual([]);
  });

  it("is not submitted again where it has become unknown since the run was planned", async () => {
    const { run, row, server } = await lost();
    expect(await ended({ ...again(row), resubmit: "20260131T120000000-0badcafe" }, run)).toMatchObject({
      state: "unknown",
      isSubmitted: false,
    });
    expect(server.submits()).toHaveLength(1);
  });

  it("has no owner any more: no process waits for the one that recorded it, although that is still alive", async () => {
    const { run, row, other, server } = await lost();
    const elsewhere = { ...run, deps: other.deps };
    expect(await runRow(again(row), elsewhere)).toMatchObject({ state: "unknown" });
    expect(await runRow(resubmitted(row), elsewhere)).toMatchObject({ state: "saved" });
    expect(server.submits()).toHaveLength(2);
  });

  it("is submitted again once where two processes are told to at once", async () => {
    const { run, row, server, other } = await lost();
    const elsewhere = { ...run, deps: other.deps };
    const ends = await Promise.all([runRow(resubmitted(row), run), runRow(resubmitted(row), elsewhere)]);
    expect(server.submits()).toHaveLength(2);
    for (const end of ends) expect(["elsewhere", "saved"]).toContain(end === "elsewhere" ? end : end.state);
  });

  it("that the user has dismissed is still none that was saved", async () => {
    const { run, row, world } = await lost();
    const entry = await world.deps.ledger.read(row.attempts[0] ?? "");
    if (entry?.kind !== "task") throw new Error("no task");
    const owned = await world.deps.ledger.claim(entry.record);
    if (typeof owned === "string") throw new Error(owned);
    await owned.file.record(EVENTS.dismissed);
    await finishTask(world.deps.ledger, owned);
    expect(await ended(again(row), run)).toMatchObject({
      state: "unknown",
      error: { type: "outcome_unknown", message: expect.stringContaining("dismissed") },
    });
    expect(await ended(resubmitted(row), run)).toMatchObject({ state: "saved" });
  });

  it("whose finished file has lost its last lines is left to the user", async () => {
    const { run, world, other, processes, row } = await newBatch();
    await ended(row, run);
    processes.die(1);
    const done = path.join(world.stateFolder, "tasks", "done");
    const names = await readdir(done, { recursive: true });
    const file = path.join(done, names.find((name) => name.endsWith(".jsonl")) ?? "");
    const lines = (await readFile(file, "utf8")).split("\n");
    for (const kept of [1, 2, 3]) {
      await writeFile(file, `${lines.slice(0, kept).join("\n")}\n`);
      expect(await ended(again(row), { ...run, deps: other.deps })).toMatchObject({
        state: "unknown",
        error: { message: expect.stringContaining(file) },
      });
    }
  });

  it("whose file is damaged is left to the user, even at the user's request", async () => {
    const { run, row, server, world } = await lost();
    const file = path.join(world.stateFolder, "tasks", "open", `${row.attempts[0]}.jsonl`);
    await writeFile(file, "scribble\n");
    expect(await ended(resubmitted(row), run)).toMatchObject({
      state: "unknown",
      report: null,
      error: { charged: "unknown", message: expect.stringContaining(file) },
    });
    expect(server.submits()).toHaveLength(1);
  });
});

describe("a row whose claim was damaged", () => {
  async function damaged(content: string) {
    const batch = await newBatch();
    const { row } = batch;
    await ended(row, batch.run);
    const claim = batch.claims.fileOf(row.key, 1);
    // As it may be where there are no hard links: the task's own file is another.
    await rm(claim);
    await writeFile(claim, content);
    const attempts = (await batch.claims.load()).get(row.key) ?? [];
    return { ...batch, claim, row: { ...row, attempts } };
  }

  it.each(["", '{"type":"intent","v":1,'])(
    "is left, with the task that may be its own: %j",
    async (content) => {
      const { run, row, claim, server } = await damaged(content);
      const end = await ended(again(row), run);
      expect(end).toMatchObject({ state: "unknown", isSubmitted: false });
      expect(end.error?.message).toContain(claim);
      expect(end.error?.message).toContain("Task task-a-fox has the same request.");
      expect(end.error?.hint).toContain("--resubmit-unknown");
      expect(server.submits()).toHaveLength(1);
    },
  );

  it("is submitted again at the user's request, once, and is then like any other", async () => {
    const { run, row, server, other, claims } = await damaged("");
    const elsewhere = { ...run, deps: other.deps };
    const ends = await Promise.all([runRow(resubmitted(row), run), runRow(resubmitted(row), elsewhere)]);
    expect(ends.some((end) => end !== "elsewhere" && end.state === "saved")).toBe(true);
    expect(server.submits()).toHaveLength(2);
    const attempts = (await claims.load()).get(row.key) ?? [];
    expect(await ended({ ...newRow(), attempts }, run)).toMatchObject({ isSkipped: true });
  });
});

describe("a row whose task was removed from the ledger", () => {
  it("is finished from its claim", async () => {
    const { run, server, world, row } = await newBatch({
      poll: inTurn(stillRunning, stillRunning, completedAt("/1.png")),
    });
    const hurried = { ...run, wait: { ...run.wait, timeoutMs: 1000 } };
    expect(await ended(row, hurried)).toMatchObject({ state: "unfinished" });
    await rm(path.join(world.stateFolder, "tasks", "open"), { recursive: true });
    expect(await ended(again(row), run)).toMatchObject({ state: "saved", isSubmitted: false });
    expect(server.submits()).toHaveLength(1);
  });

  it("is unknown where its claim is a mere copy, as without hard links", async () => {
    const { run, row, claim, server } = await copied();
    expect(await ended(again(row), run)).toMatchObject({
      state: "unknown",
      error: { message: expect.stringContaining(claim) },
    });
    expect(server.submits()).toHaveLength(1);
    expect(await ended(resubmitted(row), run)).toMatchObject({ state: "saved" });
  });

  /** A saved row whose claim knows nothing but what was to be sent. */
  async function copied() {
    const batch = await newBatch();
    const { world, run, processes, row } = batch;
    await ended(row, run);
    const claim = batch.claims.fileOf(row.key, 1);
    const intent = (await readFile(claim, "utf8")).split("\n", 1)[0];
    await rm(claim);
    await writeFile(claim, `${intent}\n{"type":"copy"}\n`);
    await rm(path.join(world.stateFolder, "tasks", "done"), { recursive: true });
    processes.die(1);
    return { ...batch, claim };
  }
});

describe("a row that was turned away with 429", () => {
  /** Another process has begun it, and recorded what came of it. */
  async function turnedAway(...events: TaskEvent[]) {
    const batch = await newBatch();
    const { other, claims, run, row } = batch;
    const spec = {
      checked: row.checked,
      destination: { kind: "folder", ...run.output },
      wait: null,
    } as const;
    const claim = claims.attempt(row.key, 1);
    const id = other.deps.ledger.newId();
    const task = await other.deps.ledger.beginAs(id, intentOf(spec, other.deps), claim);
    if (task === "taken") throw new Error("taken");
    for (const event of events) await task.file.record(event);
    task.file.close();
    return { ...batch, row: { ...row, attempts: [id] } };
  }

  it("is held while its owner lives, who is to submit it again", async () => {
    const { row, run, server } = await turnedAway(EVENTS.rate_limited);
    expect(await runRow(row, run)).toBe("elsewhere");
    expect(server.submits()).toEqual([]);
  });

  it("is submitted once its owner is dead, whose attempt is put away as not sent", async () => {
    const { row, run, server, processes } = await turnedAway(EVENTS.rate_limited);
    processes.die(2);
    expect(await ended(row, run)).toMatchObject({ state: "saved", isSubmitted: true });
    expect(server.submits()).toHaveLength(1);
    expect(await run.deps.ledger.unfinished()).toEqual([]);
    const entry = await run.deps.ledger.read(row.attempts[0] ?? "");
    expect(entry).toMatchObject({ record: { state: { name: "not_sent" } } });
  });

  it("is unknown where its owner died after the next attempt was recorded", async () => {
    const { row, run, server, processes } = await turnedAway(EVENTS.rate_limited, EVENTS.submitting);
    processes.die(2);
    expect(await ended(row, run)).toMatchObject({ state: "unknown" });
    expect(server.submits()).toEqual([]);
  });

  it.each([
    ["is submitted", [EVENTS.rate_limited], 1],
    ["is unknown", [EVENTS.rate_limited, EVENTS.submitting], 0],
  ])(
    "%s by what its claim says, should its task be removed from the ledger",
    async (_what, events, submits) => {
      const { row, run, server, processes, world } = await turnedAway(...events);
      processes.die(2);
      await rm(path.join(world.stateFolder, "tasks", "open"), { recursive: true });
      await ended(row, run);
      expect(server.submits()).toHaveLength(submits);
    },
  );
});

describe("a row that was submitted", () => {
  it("and failed is not submitted again", async () => {
    const { run, server, row } = await newBatch({ poll: taskIs({ status: "failed", errorCode: 7 }) });
    expect(await ended(row, run)).toMatchObject({
      state: "failed",
      report: { charged: "unknown" },
      error: { hint: expect.stringContaining("To submit it again, at a new charge") },
    });
    expect(await ended(again(row), run)).toMatchObject({
      state: "failed",
      error: { type: "generation_failed" },
    });
    expect(server.submits()).toHaveLength(1);
  });

  it("with another key says what is needed, and stops no other row", async () => {
    const batch = await newBatch();
    const { row } = batch;
    const task = await begunByOther(batch, row);
    await task.file.record(EVENTS.accepted);
    await task.release();
    batch.processes.die(2);
    const { deps } = batch.run;
    const identity = { ...deps.connection.identity, keyId: "fedcba9876543210" };
    const run = { ...batch.run, deps: { ...deps, connection: { ...deps.connection, identity } } };
    expect(await ended({ ...row, attempts: [task.record.id] }, run)).toMatchObject({
      state: "unfinished",
      error: { charged: "yes", message: expect.stringContaining("another API key") },
    });
    expect(run.admission.stopped).toBeNull();
    expect(batch.server.requests).toEqual([]);
  });

  it("by a process that is still at it is held", async () => {
    const batch = await newBatch();
    const { row } = batch;
    const task = await begunByOther(batch, row);
    expect(await runRow(row, batch.run)).toBe("elsewhere");
    expect(row.attempts).toEqual([task.record.id]);
    await task.release();
  });
});
