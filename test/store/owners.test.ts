import { appendFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { Processes, ProcessIdentity } from "../../src/lib/processes.ts";
import { Ledger } from "../../src/store/ledger.ts";
import type { TaskEvent } from "../../src/task/task.ts";
import { type FakeClock, fakeClock } from "../support/fake-clock.ts";
import { AT, EVENTS, INTENT, linesOf, WORK } from "../support/records.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const { rate_limited, submitting, accepted } = EVENTS;

/** A ledger with one task of another process, and how that stands for this one. */
async function taskOf(owner: ProcessIdentity, processes: Processes, ...events: TaskEvent[]) {
  const clock = fakeClock();
  const ledger = new Ledger(await temporaryFolder(), clock, processes);
  const { record, file } = await ledger.begin(INTENT, 1000);
  const begin = (until?: string): TaskEvent => {
    return { type: "intent", v: 1, at: AT, owner, ...(until !== undefined && { until }), ...INTENT };
  };
  const put = (until: string | undefined, more: TaskEvent[]) =>
    writeFile(file.path, linesOf(begin(until), ...more));
  await put(undefined, events);
  const claim = async () => {
    const found = await ledger.find(record.id);
    const claimed = await ledger.claim(found ?? record);
    if (typeof claimed === "string") return claimed;
    await claimed.release();
    return "claimed";
  };
  return { ledger, clock, claim, put, open: path.dirname(file.path), record, file };
}

const atMs = Date.parse(AT);
const msLater = (ms: number) => new Date(atMs + ms).toISOString();
const here = someProcesses(1, 2);
const elsewhere = identity(9, "elsewhere");

/** The moments, in milliseconds from the task's beginning, between which the answer changes. */
async function heldUntil(clock: FakeClock, claim: () => Promise<string>, untilMs: number): Promise<void> {
  clock.advance(untilMs - 1 - (clock.now() - atMs));
  expect(await claim()).toBe("elsewhere");
  clock.advance(1);
  expect(await claim()).toBe("claimed");
}

describe("a task of another machine", () => {
  it("whose claim does not say until when it may be submitted is left alone for 150 s", async () => {
    const { clock, claim } = await taskOf(elsewhere, here.as(1));
    await heldUntil(clock, claim, 150_000);
  });

  it("is left alone until its claim says, be that later or earlier", async () => {
    const { clock, claim, put } = await taskOf(elsewhere, here.as(1));
    await put(msLater(20_000), []);
    await heldUntil(clock, claim, 20_000);
    await put(msLater(400_000), []);
    await heldUntil(clock, claim, 400_000);
  });

  it("is left alone while a 429 is waited out, and while it is submitted again", async () => {
    const { clock, claim, put } = await taskOf(elsewhere, here.as(1));
    await put(msLater(10_000), [{ ...rate_limited, until: msLater(300_000) }]);
    await heldUntil(clock, claim, 300_000);
    await put(msLater(10_000), [rate_limited, { ...submitting, until: msLater(500_000) }]);
    await heldUntil(clock, claim, 500_000);
  });

  it("is taken over at once when it was accepted: it will not be submitted", async () => {
    const { claim } = await taskOf(elsewhere, here.as(1), accepted);
    expect(await claim()).toBe("claimed");
  });

  it.each([
    ["of another boot", "b pid:[1]"],
    ["of another pid namespace", "a pid:[2]"],
  ])("is also one %s", async (_what, scope) => {
    const self = { ...identity(1), scope: "a pid:[1]" };
    const processes = { ...here.as(1), self };
    const { clock, claim } = await taskOf({ ...self, pid: 9, scope }, processes);
    await heldUntil(clock, claim, 150_000);
  });
});

describe("a task of this machine", () => {
  it("is its owner's while that lives, in whatever client, thread or copy of the package", async () => {
    const { claim, ledger, record } = await taskOf(identity(1), here.as(1), accepted);
    expect(await claim()).toBe("elsewhere");
    expect(ledger.isClaimed(record)).toBe(true);
  });

  it.each([
    ["it was released", [accepted, EVENTS.released]],
    ["its outcome is recorded as unknown", [EVENTS.unknown]],
  ])("is free while its owner lives, once %s", async (_when, events) => {
    const { claim } = await taskOf(identity(2), here.as(1), ...events);
    expect(await claim()).toBe("claimed");
  });
});

describe("a task that waits out a 429", () => {
  it("is its owner's while that lives, however long", async () => {
    const { ledger, clock, claim } = await taskOf(identity(2), here.as(1), rate_limited);
    clock.advance(3_600_000);
    expect(await claim()).toBe("elsewhere");
    expect(await ledger.creditsSince(atMs, INTENT.service.keyId)).toBe(2);
  });

  it("has no owner, and has cost nothing, once its owner is dead", async () => {
    const { ledger, claim } = await taskOf(identity(9), here.as(1), rate_limited);
    expect(await ledger.unfinished()).toMatchObject([{ record: { state: { isOwnerGone: true } } }]);
    expect(await ledger.creditsSince(atMs, INTENT.service.keyId)).toBe(0);
    expect(await claim()).toBe("claimed");
  });

  it("is known by what its owner wrote last, had that gone on before it died", async () => {
    const processes = here.as(1);
    const { ledger, file } = await taskOf(identity(9), processes, rate_limited);
    const isAlive = () => {
      // Between the reading and this question it has submitted, and died.
      appendFileSync(file.path, linesOf(submitting));
      return false;
    };
    const state = path.dirname(ledger.folder);
    const [entry] = await new Ledger(state, fakeClock(), { ...processes, isAlive }).unfinished();
    expect(entry).toMatchObject({ record: { state: { name: "intent" } } });
  });
});

describe("a paid request that was sent", () => {
  const started = { ...EVENTS.started, by: identity(9), until: msLater(600_000) };

  /** A task of two requests of a process that has left these lines. */
  async function sentTask(processes: Processes, ...events: TaskEvent[]) {
    const ledger = new Ledger(await temporaryFolder(), fakeClock(), processes);
    const { record, file } = await ledger.begin({ ...INTENT, work: { ...WORK, requests: 2 } });
    for (const event of events) await file.record(event);
    const found = async () => (await ledger.find(record.id)) ?? record;
    const stands = async () => {
      const { state, requests } = await ledger.asItStands(await found());
      return [state.name, ...requests.map(({ name }) => name)];
    };
    return { ledger, file, stands, id: record.id };
  }

  it("is on its way while its process lives", async () => {
    const { stands } = await sentTask(someProcesses(1, 9).as(1), { ...started, request: 0 });
    expect(await stands()).toEqual(["started", "started", "waiting"]);
  });

  it("is lost once its process has ended, and the others of its task stand as they did", async () => {
    const { stands } = await sentTask(here.as(1), { ...started, request: 0 });
    expect(await stands()).toEqual(["waiting", "unknown", "waiting"]);
    const made = { ...EVENTS.completed, urls: [], request: 0 };
    const last = await sentTask(here.as(1), { ...started, request: 0 }, made, { ...started, request: 1 });
    expect(await last.stands()).toEqual(["completed", "completed", "unknown"]);
  });

  it.each(["reply", ".job"])("can be continued where there is a %s of it on the disk", async (name) => {
    const { ledger, stands, id } = await sentTask(here.as(1), { ...started, request: 0 });
    await ledger.work.begin(id, 0);
    expect(await stands()).toEqual(["waiting", "unknown", "waiting"]);
    await writeFile(path.join(ledger.work.of(id, 0), name), "something");
    expect(await stands()).toEqual(["started", "started", "waiting"]);
    expect(ledger.work.isKept(id, 0)).toBe(name === "reply");
  });

  it("is known by what its process wrote last, had that gone on before it ended", async () => {
    const processes = here.as(1);
    const isAlive = () => {
      appendFileSync(file.path, linesOf({ ...EVENTS.refused, request: 0 }));
      return false;
    };
    const { file, stands } = await sentTask({ ...processes, isAlive }, { ...started, request: 0 });
    expect(await stands()).toEqual(["waiting", "refused", "waiting"]);
  });
});
