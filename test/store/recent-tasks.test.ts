import { describe, expect, it, onTestFinished, vi } from "vitest";
import { DiskFile } from "../../src/lib/disk-file.ts";
import type { TaskEvent } from "../../src/task/task.ts";
import { finishTask } from "../support/finish-task.ts";
import { ledgerWorld, leftTask } from "../support/ledger-world.ts";
import { EVENTS, INTENT } from "../support/records.ts";

const { accepted, completed, saved, failed, refused, not_sent, unknown, dismissed } = EVENTS;
const KEY = INTENT.service.keyId;
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

describe("what an account was charged since a moment", () => {
  it("is the documented cost of all that was or may have been charged, finished or not", async () => {
    const { ledger, clock } = await ledgerWorld();
    const since = clock.now();
    await leftTask(ledger, { credits: 1 });
    await leftTask(ledger, { credits: 2 }, unknown);
    await leftTask(ledger, { credits: 4 }, accepted);
    await leftTask(ledger, { credits: 8 }, accepted, completed);
    await leftTask(ledger, { credits: 16 }, accepted, completed, saved);
    await leftTask(ledger, { credits: 32 }, accepted, failed);
    await leftTask(ledger, { credits: 64 }, unknown, dismissed);
    expect(await ledger.creditsSince(since, KEY)).toBe(127);
  });

  it("leaves out what was refused or never sent, and what has no documented cost", async () => {
    const { ledger, clock } = await ledgerWorld();
    const since = clock.now();
    await leftTask(ledger, {}, refused);
    await leftTask(ledger, {}, not_sent);
    await leftTask(ledger, { credits: null }, accepted, completed, saved);
    await leftTask(ledger, { credits: null }, accepted);
    expect(await ledger.creditsSince(since, KEY)).toBe(0);
  });

  it("leaves out what another key submitted", async () => {
    const { ledger, clock } = await ledgerWorld();
    const since = clock.now();
    const service = { ...INTENT.service, keyId: "fedcba9876543210" };
    await leftTask(ledger, { service }, accepted);
    await leftTask(ledger, { service }, accepted, completed, saved);
    await leftTask(ledger, {}, accepted, completed, saved);
    expect(await ledger.creditsSince(since, KEY)).toBe(2);
    expect(await ledger.creditsSince(since, service.keyId)).toBe(4);
  });

  it("begins with the moment itself, to the millisecond, over folders of days and minutes", async () => {
    const { ledger, clock } = await ledgerWorld();
    for (let day = 0; day < 3; day++) {
      await leftTask(ledger, { credits: 1 }, accepted, completed, saved);
      await leftTask(ledger, { credits: 1 }, accepted);
      clock.advance(DAY);
    }
    await leftTask(ledger, { credits: 1 }, accepted, completed, saved);
    const now = clock.now();
    const spentSince = (moment: number) => ledger.creditsSince(moment, KEY);
    expect(await spentSince(now)).toBe(1);
    expect(await spentSince(now + 1)).toBe(0);
    expect(await spentSince(now - DAY)).toBe(3);
    expect(await spentSince(now - DAY + 1)).toBe(1);
    expect(await spentSince(now - 30 * DAY)).toBe(7);
  });

  it("is nothing where there is no ledger yet", async () => {
    const { ledger } = await ledgerWorld();
    expect(await ledger.creditsSince(0, KEY)).toBe(0);
  });
});

describe("what an account was charged, asked again and again", () => {
  const end: TaskEvent[] = [accepted, completed, saved];

  /** A ledger that is asked, and another process's of the same tasks. */
  async function twoLedgers() {
    const { clock, as } = await ledgerWorld(2);
    const [own, other, since] = [as(1), as(2), clock.now()];
    const spent = () => own.creditsSince(since, KEY);
    expect(await spent()).toBe(0);
    return { clock, own, other, spent, since };
  }

  it("has every task that another process has begun by then, finished in between or not", async () => {
    const { clock, other, spent } = await twoLedgers();
    let sum = 0;
    for (let round = 0; round < 40; round++) {
      await leftTask(other, { credits: 1 }, accepted);
      await leftTask(other, { credits: 2 }, ...end);
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
      await Promise.all([spent(), leftTask(other, { credits: 1 }, accepted), spent(), spent()]);
      await Promise.all([spent(), leftTask(other, { credits: 2 }, ...end), spent()]);
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
    for (let row = 0; row < 30; row++) await leftTask(other, { credits: 1 }, accepted);
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
    const { ledger, clock } = await ledgerWorld();
    const request = (prompt: string, quality?: string) => ({
      request: { ...INTENT.request, prompt, ...(quality !== undefined && { quality }) },
    });
    await leftTask(ledger, request("first"), ...end);
    clock.advance(2 * MINUTE);
    await leftTask(ledger, request("of 2K", "2K"), ...end);
    await leftTask(ledger, { request: { prompt: "of another model", model: "z-image" } }, ...end);
    await leftTask(ledger, { service: { ...INTENT.service, baseUrl: "https://other.example/api" } }, ...end);
    clock.advance(DAY);
    await leftTask(ledger, request("second"), ...end);
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
    const { ledger } = await ledgerWorld();
    await leftTask(ledger, { service: { ...INTENT.service, keyId: "fedcba9876543210" } }, ...end);
    expect(await ledger.recentOfKind(kind, INTENT.service)).toHaveLength(1);
  });

  it("are 50 at the most, the newest, and none that is unfinished", async () => {
    const { ledger, clock } = await ledgerWorld();
    for (let each = 0; each < 55; each++) {
      await leftTask(ledger, { credits: each }, ...end);
      clock.advance(each % 10 === 0 ? MINUTE : 1);
    }
    await leftTask(ledger, { credits: 99 }, accepted);
    const credits = (await ledger.recentOfKind(kind, INTENT.service)).map(({ intent }) => intent.credits);
    expect(credits).toEqual(Array.from({ length: 50 }, (_, index) => index + 5));
  });

  it("are none where there is no ledger yet", async () => {
    const { ledger } = await ledgerWorld();
    expect(await ledger.recentOfKind(kind, INTENT.service)).toEqual([]);
  });
});
