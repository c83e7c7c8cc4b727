import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DiskFile } from "../../src/lib/disk-file.ts";
import { Ledger } from "../../src/store/ledger.ts";
import type { OwnedTask } from "../../src/store/owners.ts";
import type { Intent } from "../../src/task/intent.ts";
import type { TaskEvent } from "../../src/task/lifecycle.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { finishTask } from "../support/finish-task.ts";
import { EVENTS, INTENT } from "../support/records.ts";
import { someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const { accepted, completed, saved, failed, refused, not_sent, unknown, dismissed } = EVENTS;
const KEY = INTENT.service.keyId;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

async function newLedger() {
  const clock = fakeClock();
  const ledger = new Ledger(await temporaryFolder(), clock, someProcesses(1).as(1));
  return { ledger, clock };
}

/** A task that has come so far, and is put away where that is its end. */
async function task(ledger: Ledger, intent: Partial<Intent>, ...events: TaskEvent[]): Promise<OwnedTask> {
  const owned = await ledger.begin({ ...INTENT, ...intent });
  for (const event of events) await owned.file.record(event);
  const ends = events.at(-1)?.type;
  const isOver = ends !== undefined && !["accepted", "completed", "unknown"].includes(ends);
  await (isOver ? finishTask(ledger, owned) : owned.release());
  return owned;
}

describe("what an account was charged since a moment", () => {
  it("is the documented cost of all that was or may have been charged, finished or not", async () => {
    const { ledger, clock } = await newLedger();
    const since = clock.now();
    await task(ledger, { credits: 1 });
    await task(ledger, { credits: 2 }, unknown);
    await task(ledger, { credits: 4 }, accepted);
    await task(ledger, { credits: 8 }, accepted, completed);
    await task(ledger, { credits: 16 }, accepted, completed, saved);
    await task(ledger, { credits: 32 }, accepted, failed);
    await task(ledger, { credits: 64 }, unknown, dismissed);
    expect(await ledger.creditsSince(since, KEY)).toBe(127);
  });

  it("leaves out what was refused or never sent, and what has no documented cost", async () => {
    const { ledger, clock } = await newLedger();
    const since = clock.now();
    await task(ledger, {}, refused);
    await task(ledger, {}, not_sent);
    await task(ledger, { credits: null }, accepted, completed, saved);
    await task(ledger, { credits: null }, accepted);
    expect(await ledger.creditsSince(since, KEY)).toBe(0);
  });

  it("leaves out what another key submitted", async () => {
    const { ledger, clock } = await newLedger();
    const since = clock.now();
    const service = { ...INTENT.service, keyId: "fedcba9876543210" };
    await task(ledger, { service }, accepted);
    await task(ledger, { service }, accepted, completed, saved);
    await task(ledger, {}, accepted, completed, saved);
    expect(await ledger.creditsSince(since, KEY)).toBe(2);
    expect(await ledger.creditsSince(since, service.keyId)).toBe(4);
  });

  it("begins with the moment itself, to the millisecond, over folders of days and minutes", async () => {
    const { ledger, clock } = await newLedger();
    for (let day = 0; day < 3; day++) {
      await task(ledger, { credits: 1 }, accepted, completed, saved);
      await task(ledger, { credits: 1 }, accepted);
      clock.advance(DAY);
    }
    await task(ledger, { credits: 1 }, accepted, completed, saved);
    const now = clock.now();
    const spentSince = (moment: number) => ledger.creditsSince(moment, KEY);
    expect(await spentSince(now)).toBe(1);
    expect(await spentSince(now + 1)).toBe(0);
    expect(await spentSince(now - DAY)).toBe(3);
    expect(await spentSince(now - DAY + 1)).toBe(1);
    expect(await spentSince(now - 30 * DAY)).toBe(7);
  });

  it("is nothing where there is no ledger yet", async () => {
    const { ledger } = await newLedger();
    expect(await ledger.creditsSince(0, KEY)).toBe(0);
  });
});

describe("what an account was charged, asked again and again", () => {
  const end: TaskEvent[] = [accepted, completed, saved];

  /** A ledger that is asked, and another process's of the same tasks. */
  async function twoLedgers() {
    const clock = fakeClock();
    const state = await temporaryFolder();
    const processes = someProcesses(1, 2);
    const [own, other] = [1, 2].map((pid) => new Ledger(state, clock, processes.as(pid))) as [Ledger, Ledger];
    const since = clock.now();
    const spent = () => own.creditsSince(since, KEY);
    expect(await spent()).toBe(0);
    return { clock, own, other, spent, since };
  }

  it("has every task that another process has begun by then, finished in between or not", async () => {
    const { clock, other, spent } = await twoLedgers();
    let sum = 0;
    for (let round = 0; round < 40; round++) {
      await task(other, { credits: 1 }, accepted);
      await task(other, { credits: 2 }, ...end);
      sum += 3;
      expect(await spent()).toBe(sum);
      clock.advance(round % 3 === 0 ? 0 : 97_000);
    }
  });

  it("keeps what finishes much later, and gives up what was withdrawn once all is listed again", async () => {
    const { clock, other, spent } = await twoLedgers();
    expect(await spent()).toBe(0);
    const [late, gone] = [
      await other.begin({ ...INTENT, credits: 5 }),
      await other.begin({ ...INTENT, credits: 7 }),
    ];
    expect(await spent()).toBe(12);
    clock.advance(10 * MINUTE);
    expect(await spent()).toBe(12);
    for (const event of end) await late.file.record(event);
    await finishTask(other, late);
    await gone.file.record(not_sent);
    await finishTask(other, gone);
    expect(await spent()).toBeGreaterThanOrEqual(5);
    clock.advance(6_000);
    expect(await spent()).toBe(5);
  });

  it("loses nothing that is begun while several ask at once, whichever of them lists all", async () => {
    const { clock, other, spent } = await twoLedgers();
    for (let round = 1; round <= 20; round++) {
      clock.advance(6_000);
      await Promise.all([spent(), task(other, { credits: 1 }, accepted), spent(), spent()]);
      await Promise.all([spent(), task(other, { credits: 2 }, ...end), spent()]);
      expect(await Promise.all([spent(), spent()])).toEqual([3 * round, 3 * round]);
    }
  });

  it("is exact when it is counted again", async () => {
    const { clock, own, other, since } = await twoLedgers();
    const gone = await other.begin({ ...INTENT, credits: 7 });
    expect(await own.creditsSince(since, KEY)).toBe(7);
    clock.advance(10 * MINUTE);
    expect(await own.creditsSince(since, KEY)).toBe(7);
    await gone.file.record(refused);
    await finishTask(other, gone);
    expect(await own.recountCreditsSince(since, KEY)).toBe(0);
  });

  it("reads each task once, however often it is asked", async () => {
    const { clock, other, spent } = await twoLedgers();
    for (let row = 0; row < 30; row++) await task(other, { credits: 1 }, accepted);
    const reads = vi.spyOn(DiskFile, "openToRead");
    onTestFinished(() => reads.mockRestore());
    for (let time = 0; time < 20; time++) {
      expect(await spent()).toBe(30);
      clock.advance(6_000);
    }
    expect(reads.mock.calls.filter(([file]) => file.endsWith(".jsonl"))).toHaveLength(30);
  });
});

describe("the latest tasks of one kind", () => {
  const kind = { model: "gamma-image-2" };
  const end: TaskEvent[] = [accepted, completed, saved];

  it("are those of the same model, quality and service, oldest first", async () => {
    const { ledger, clock } = await newLedger();
    const request = (prompt: string, quality?: string) => ({
      request: { ...INTENT.request, prompt, ...(quality !== undefined && { quality }) },
    });
    await task(ledger, request("first"), ...end);
    clock.advance(2 * MINUTE);
    await task(ledger, request("of 2K", "2K"), ...end);
    await task(ledger, { request: { prompt: "of another model", model: "z-image" } }, ...end);
    await task(ledger, { service: { ...INTENT.service, baseUrl: "https://other.example/api" } }, ...end);
    clock.advance(DAY);
    await task(ledger, request("second"), ...end);
    const prompts = async (quality?: string) => {
      const wanted = { ...kind, ...(quality !== undefined && { quality }) };
      const records = await ledger.recentOfKind(wanted, INTENT.service);
      return records.map(({ intent }) => intent.request.prompt);
    };
    expect(await prompts()).toEqual(["first", "second"]);
    expect(await prompts("2K")).toEqual(["of 2K"]);
    expect(await prompts("4K")).toEqual([]);
  });

  it("are of any key: how long a task takes is not the key's doing", async () => {
    const { ledger } = await newLedger();
    await task(ledger, { service: { ...INTENT.service, keyId: "fedcba9876543210" } }, ...end);
    expect(await ledger.recentOfKind(kind, INTENT.service)).toHaveLength(1);
  });

  it("are 50 at the most, the newest, and none that is unfinished", async () => {
    const { ledger, clock } = await newLedger();
    for (let each = 0; each < 55; each++) {
      await task(ledger, { credits: each }, ...end);
      clock.advance(each % 10 === 0 ? MINUTE : 1);
    }
    await task(ledger, { credits: 99 }, accepted);
    const credits = (await ledger.recentOfKind(kind, INTENT.service)).map(({ intent }) => intent.credits);
    expect(credits).toEqual(Array.from({ length: 50 }, (_, index) => index + 5));
  });

  it("are none where there is no ledger yet", async () => {
    const { ledger } = await newLedger();
    expect(await ledger.recentOfKind(kind, INTENT.service)).toEqual([]);
  });
});
