import { readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { TransportError } from "../../../src/api/transport.ts";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import type { RowResult } from "../../../src/core/batch/row-result.ts";
import { type BatchContext, runRow } from "../../../src/core/batch/run-row.ts";
import { dayCap } from "../../../src/core/limits/budget.ts";
import type { OutageEvent } from "../../../src/core/limits/gate.ts";
import type { FollowOptions } from "../../../src/providers/provider.ts";
import { recordRowBegun } from "../../../src/store/row-claims.ts";
import { StateFolderError } from "../../../src/store/store-errors.ts";
import type { Line } from "../../../src/task/line.ts";
import { accepts } from "../../support/batch-world.ts";
import { finishTask } from "../../support/finish-task.ts";
import { LINES } from "../../support/records.ts";
import { drawn, scriptedProvider } from "../../support/scripted-provider.ts";
import type { ServiceScript } from "../../support/scripted-server.ts";
import { completedAt, inTurn, reset, stillRunning } from "../../support/scripts.ts";
import { begunByOther, claimedOnly, newRun } from "./batch-run.ts";
import { newRow, newRows } from "./some-rows.ts";

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

  it("is begun under the id of a process that claimed it and never began it", async () => {
    const { run, server, claims, other, row } = await newBatch();
    const id = await claimedOnly(claims, other.deps.ledger, row);
    expect(await ended(row, run)).toMatchObject({ state: "saved", report: { ledgerId: id } });
    expect(row.attempts).toEqual([id]);
    expect(server.submits()).toHaveLength(1);
  });

  it("is of unknown outcome if its claim says that it was begun, and its task is nowhere", async () => {
    const { run, server, claims, other, row } = await newBatch();
    await claimedOnly(claims, other.deps.ledger, row);
    await recordRowBegun(run.deps.ledger.folder, claims.claimName(row.key, 1));
    expect(await ended(row, run)).toMatchObject({ state: "unknown", isSubmitted: false });
    expect(server.submits()).toEqual([]);
    expect(await ended(resubmitted(row), run)).toMatchObject({ state: "saved" });
  });

  it("is begun once by two processes that find it claimed only", async () => {
    const { run, server, claims, other, row } = await newBatch();
    const id = await claimedOnly(claims, other.deps.ledger, row);
    const rows = [again({ ...row, attempts: [id] }), again({ ...row, attempts: [id] })] as const;
    const ends = await Promise.all([runRow(rows[0], run), runRow(rows[1], { ...run, deps: other.deps })]);
    expect(server.submits()).toHaveLength(1);
    expect(ends.some((end) => end !== "elsewhere" && end.state === "saved")).toBe(true);
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

  it("is not sent, rather than failed, where the day's limit comes between", async () => {
    const { run, server, row } = await newBatch();
    const caps = [dayCap({ ...run.deps, dailyCredits: 1 })];
    const end = await ended(row, { ...run, deps: { ...run.deps, caps } });
    const error = { type: "budget_exceeded" };
    expect(end).toMatchObject({ state: "new", report: { charged: "no" }, error });
    expect(run.deps.gate.stopped?.type).toBe("budget_exceeded");
    expect(server.submits()).toEqual([]);
  });

  it("says that it was not sent, and why, if the service stays down", async () => {
    const { run, row } = await newBatch();
    const { provider } = run.deps.connection;
    provider.submit = async () => ({
      outcome: "not_sent",
      cause: new TransportError("no route", { wasSent: false, cause: new Error("EHOSTUNREACH") }),
    });
    const end = await ended(row, run);
    expect(end).toMatchObject({ state: "new", report: null, error: { type: "network", charged: "no" } });
    expect(end.error?.message).toMatch(/^This row was not sent\. .+/);
    const claims = await run.claims.load();
    expect(await ended(newRow("a hen"), run)).toMatchObject({ state: "new", report: null });
    expect(await run.claims.load()).toEqual(claims);
  });
});

describe("a row that an earlier run has saved", () => {
  async function saved() {
    const batch = await newBatch();
    await ended(batch.row, batch.run);
    const file = path.join(batch.world.output, "a-fox.png");
    return { ...batch, file, requests: batch.server.requests.length };
  }

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

  it("is dismissed and submitted again at the user's request", async () => {
    const { run, row, server, world } = await lost();
    const second = resubmitted(row);
    expect(await ended(second, run)).toMatchObject({ state: "saved", isSubmitted: true });
    expect(second.attempts).toHaveLength(2);
    expect(server.submits()).toHaveLength(2);
    expect(await readdir(path.join(world.stateFolder, "tasks", "open"))).toEqual([]);
  });

  it("counts as possibly charged if its record cannot be read, even if it is to be resubmitted", async () => {
    const { run, row, server } = await lost();
    const error = Object.assign(new Error("EIO: i/o error, stat"), { code: "EIO" });
    const read = async () => {
      throw new StateFolderError(run.deps.ledger.folder, error);
    };
    const ledger = Object.create(run.deps.ledger, { read: { value: read } });
    const end = await ended(
      { ...resubmitted(row), state: "unknown" },
      { ...run, deps: { ...run.deps, ledger } },
    );
    expect(end).toMatchObject({ state: "unknown", isSubmitted: false, error: { charged: "unknown" } });
    expect(server.submits()).toHaveLength(1);
  });

  it("is not submitted again where it has become unknown since the run was planned", async () => {
    const { run, row, server } = await lost();
    const end = await ended({ ...again(row), resubmit: "20260131T120000000-0badcafe" }, run);
    expect(end).toMatchObject({ state: "unknown", isSubmitted: false });
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
    const owned = await world.deps.ledger.take(entry.task);
    if (typeof owned === "string") throw new Error(owned);
    await owned.file.record(LINES.dismissed);
    await finishTask(world.deps.ledger, owned);
    const error = { type: "outcome_unknown", message: expect.stringContaining("dismissed") };
    expect(await ended(again(row), run)).toMatchObject({ state: "unknown", error });
    expect(await ended(resubmitted(row), run)).toMatchObject({ state: "saved" });
  });

  /** A saved row whose finished file has lost its lines after the first few. */
  async function cutOff(kept: number) {
    const batch = await newBatch();
    await ended(batch.row, batch.run);
    batch.processes.die(1);
    const done = path.join(batch.world.stateFolder, "tasks", "done");
    const names = await readdir(done, { recursive: true });
    const file = path.join(done, names.find((name) => name.endsWith(".jsonl")) ?? "");
    const lines = (await readFile(file, "utf8")).split("\n");
    await writeFile(file, `${lines.slice(0, kept).join("\n")}\n`);
    return { ...batch, file, elsewhere: { ...batch.run, deps: batch.other.deps } };
  }

  it.each([1, 2, 3])(
    "is none whose finished file keeps %i lines, and whose claim says its end",
    async (kept) => {
      const { row, elsewhere, server } = await cutOff(kept);
      expect(await ended(again(row), elsewhere)).toMatchObject({ state: "saved", isSkipped: true });
      expect(server.submits()).toHaveLength(1);
    },
  );

  it.each([1, 3])("whose finished file keeps %i lines, and whose claim no end, is left", async (kept) => {
    const { row, elsewhere, server, file, claims, run } = await cutOff(kept);
    const claim = path.join(run.deps.ledger.folder, "batches", claims.claimName(row.key, 1));
    const [intent, begun] = (await readFile(claim, "utf8")).split("\n");
    await writeFile(claim, `${intent}\n${begun}\n`);
    const error = { message: expect.stringContaining(file) };
    expect(await ended(again(row), elsewhere)).toMatchObject({ state: "unknown", error });
    expect(server.submits()).toHaveLength(1);
  });

  it("whose file is damaged is left to the user, even at the user's request", async () => {
    const { run, row, server, world } = await lost();
    const file = path.join(world.stateFolder, "tasks", "open", `${row.attempts[0]}.jsonl`);
    await writeFile(file, "scribble\n");
    const error = { charged: "unknown", message: expect.stringContaining(file) };
    expect(await ended(resubmitted(row), run)).toMatchObject({ state: "unknown", report: null, error });
    expect(server.submits()).toHaveLength(1);
  });
});

describe("a row whose claim was damaged", () => {
  async function damaged(content: string) {
    const batch = await newBatch();
    const { row } = batch;
    await ended(row, batch.run);
    const { folder } = batch.run.deps.ledger;
    const claim = path.join(folder, "batches", batch.claims.claimName(row.key, 1));
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
  it("is unknown if it was submitted and not finished, and is submitted again at the user's request", async () => {
    const { run, server, world, row } = await newBatch({
      poll: inTurn(stillRunning, stillRunning, completedAt("/1.png")),
    });
    const hurried = { ...run, wait: { ...run.wait, timeoutMs: 1000 } };
    expect(await ended(row, hurried)).toMatchObject({ state: "unfinished" });
    await rm(path.join(world.stateFolder, "tasks", "open"), { recursive: true });
    const end = await ended(again(row), run);
    expect(end).toMatchObject({ state: "unknown", isSubmitted: false });
    expect(end.error?.message).toContain(run.claims.claimName(row.key, 1));
    expect(server.submits()).toHaveLength(1);
    expect(await ended(resubmitted(row), run)).toMatchObject({ state: "saved" });
  });

  it("is saved if it was saved", async () => {
    const { run, row, server, world } = await newBatch();
    await ended(row, run);
    await rm(path.join(world.stateFolder, "tasks", "done"), { recursive: true });
    expect(await ended(again(row), run)).toMatchObject({ state: "saved", isSkipped: true });
    expect(server.submits()).toHaveLength(1);
  });
});

describe("a row that was turned away with 429", () => {
  /** Another process has begun it, and recorded what came of it. */
  async function turnedAway(...lines: Line[]) {
    const batch = await newBatch();
    const task = await begunByOther(batch, batch.row);
    for (const line of lines) await task.file.record(line);
    task.file.close();
    return { ...batch, row: { ...batch.row, attempts: [task.task.id] } };
  }

  it("is submitted under the same id once that process is dead", async () => {
    const { row, run, server, processes } = await turnedAway(LINES.started, LINES.waiting);
    processes.die(2);
    const [id] = row.attempts;
    const report = { ledgerId: id };
    expect(await ended(row, run)).toMatchObject({ state: "saved", isSubmitted: true, report });
    expect(row.attempts).toEqual([id]);
    expect(server.submits()).toHaveLength(1);
    expect(await run.deps.ledger.unfinished()).toEqual([]);
  });

  it("stays new if it is not sent then either", async () => {
    const { row, run, server, processes } = await turnedAway(LINES.started, LINES.waiting);
    processes.die(2);
    const caps = [dayCap({ ...run.deps, dailyCredits: 1 })];
    const end = await ended(row, { ...run, deps: { ...run.deps, caps } });
    expect(end).toMatchObject({ state: "new", error: { type: "budget_exceeded" } });
    expect(server.submits()).toEqual([]);
    expect(await run.deps.ledger.unfinished()).toEqual([]);
  });
});

it("six free rows are saved when a service comes back after one failed request", async () => {
  const provider = scriptedProvider(async (job, _how, number) =>
    number === 1
      ? { outcome: "not_sent", cause: new TransportError("down", { wasSent: false }) }
      : drawn(job),
  );
  const outages: boolean[] = [];
  const onOutage = ({ down }: OutageEvent) => void outages.push(down);
  const { go, ends } = await newRun({}, { provider, work: { isPaid: false }, onOutage });
  await go(newRows(...Array.from({ length: 6 }, (_, at) => `fox ${at}`)), { concurrency: 6 });
  expect(ends.map(({ state }) => state)).toEqual(Array(6).fill("saved"));
  expect(outages).toEqual([true, false]);
});

it("a row passes on the progress of a job that its provider has accepted", async () => {
  const provider = scriptedProvider(async () => ({ outcome: "accepted", taskId: "job-1" }));
  const end = { status: "completed", urls: [] as string[] } as const;
  let polls = 0;
  const poll = async () => {
    const task = polls++ < 2 ? ({ status: "running" } as const) : end;
    return { outcome: "state" as const, task };
  };
  const follow = async (_id: string, { onProgress }: FollowOptions) => {
    onProgress(0.5);
    return false;
  };
  const world = await newRun({}, { provider: Object.assign(provider, { poll, follow }) });
  await world.go([newRow()]);
  expect(world.world.events).toContainEqual(expect.objectContaining({ type: "progress", share: 0.5 }));
});

describe("a row that was submitted", () => {
  it("with another key says what is needed, and stops no other row", async () => {
    const batch = await newBatch();
    const { row } = batch;
    const task = await begunByOther(batch, row);
    for (const line of [LINES.started, LINES.accepted]) await task.file.record(line);
    batch.other.deps.ledger.release(task, true);
    const { deps } = batch.run;
    const identity = { ...deps.connection.identity, keyId: "fedcba9876543210" };
    const run = { ...batch.run, deps: { ...deps, connection: { ...deps.connection, identity } } };
    const error = { charged: "yes", message: expect.stringContaining("another API key") };
    const end = await ended({ ...row, attempts: [task.task.id] }, run);
    expect(end).toMatchObject({ state: "unfinished", error });
    expect(run.deps.gate.stopped).toBeNull();
    expect(batch.server.requests).toEqual([]);
  });

  it("by a process that is still at it is held", async () => {
    const batch = await newBatch();
    const { row } = batch;
    const task = await begunByOther(batch, row);
    expect(await runRow(row, batch.run)).toBe("elsewhere");
    expect(row.attempts).toEqual([task.task.id]);
    batch.other.deps.ledger.release(task, true);
  });
});
