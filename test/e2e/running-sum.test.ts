import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { build } from "rolldown";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { DailySpending, RunningSum } from "../../src/store/running-sum.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const DAY = "2026-01-31";
const KEY = "0123456789abcdef";
const taskId = (at: number) => `20260131T120000000-${at.toString(16).padStart(8, "0")}`;
const charge = (at: number, credits: number, keyId = KEY) => ({
  task: taskId(at),
  request: 0,
  part: 1,
  keyId,
  credits,
});

async function newSpending() {
  const state = await temporaryFolder();
  const another = () => new DailySpending(path.join(state, "spent"), systemClock, Math.random);
  const names = () => readdirSync(path.join(state, "spent", DAY));
  return { state, spending: another(), another, names };
}

it("a running sum follows files that appear and end, reading each name once", async () => {
  const folder = await temporaryFolder();
  const read: string[] = [];
  const sum = new RunningSum(path.join(folder, "new"), (name) => {
    read.push(name);
    return { key: name, value: Number(name) };
  });
  expect(sum.total()).toBe(0);
  mkdirSync(path.join(folder, "new"));
  const put = (name: string) => writeFileSync(path.join(folder, "new", name), "");
  put("1");
  put("20");
  expect(sum.total()).toBe(21);
  put("300");
  rmSync(path.join(folder, "new", "1"));
  expect(sum.total()).toBe(320);
  expect(read.toSorted()).toEqual(["1", "20", "300"]);
});

describe("a day's spending", () => {
  it("is what was announced and not withdrawn, of each account and day alone, in every process", async () => {
    const { spending, another } = await newSpending();
    await spending.announce(DAY, charge(1, 2), null);
    await spending.announce(DAY, charge(2, 0.1), null);
    await spending.announce(DAY, charge(3, 0.2), null);
    await spending.announce(DAY, charge(4, 5, "other"), null);
    await spending.announce("2026-02-01", charge(5, 7), null);
    await another().withdraw(DAY, charge(1, 2));
    await another().withdraw(DAY, charge(1, 2));
    for (const each of [spending, another()]) {
      expect(await each.total(DAY, KEY)).toBe(0.3);
      expect(await each.total(DAY, "other")).toBe(5);
      expect(await each.total("2026-02-01", KEY)).toBe(7);
      expect(await each.total("2026-02-02", KEY)).toBe(0);
    }
  });

  it("keeps the cap to the last decimal, and leaves nothing of what is above it", async () => {
    const { spending, names } = await newSpending();
    expect(await spending.announce(DAY, charge(1, 0.1), 0.3)).toEqual({ ok: true });
    expect(await spending.announce(DAY, charge(2, 0.2), 0.3)).toEqual({ ok: true });
    expect(await spending.announce(DAY, charge(3, 0.000_001), 0.3)).toEqual({ ok: false, spent: 0.3 });
    expect(names()).toEqual([`${taskId(1)}.0.1.${KEY}.0.1`, `${taskId(2)}.0.1.${KEY}.0.2`]);
  });

  it("counts a request once that was announced before a crash, and never removes that", async () => {
    const { spending, another, names } = await newSpending();
    await spending.announce(DAY, charge(1, 2), 2);
    expect(await another().announce(DAY, charge(1, 2), 2)).toEqual({ ok: true });
    expect(await another().announce(DAY, charge(1, 2), 1)).toEqual({ ok: false, spent: 0 });
    expect(names()).toHaveLength(1);
    const other = { ...charge(1, 2), request: 1 };
    expect(await another().announce(DAY, other, 2)).toEqual({ ok: false, spent: 2 });
  });

  it("counts a request once that two processes of its task have announced, and each withdraws its own alone", async () => {
    const { spending, another } = await newSpending();
    const second = { ...charge(1, 2), part: 2 };
    await spending.announce(DAY, charge(1, 2), 2);
    expect(await another().announce(DAY, second, 2)).toEqual({ ok: true });
    expect(await spending.total(DAY, KEY)).toBe(2);
    await spending.withdraw(DAY, charge(1, 2));
    expect(await spending.total(DAY, KEY)).toBe(2);
    await another().withdraw(DAY, second);
    expect(await spending.total(DAY, KEY)).toBe(0);
  });

  it("is not moved by names that are none of its own", async () => {
    const { state, spending } = await newSpending();
    await spending.announce(DAY, charge(1, 3), null);
    const id = taskId(2);
    const prices = ["-5", "1e9", "Infinity", "9999999999", "1.2.3", "5\n"];
    const names = prices.map((price) => `${id}.0.1.${KEY}.${price}`);
    names.push("x", "__proto__", `${id}.0.1.${KEY}`);
    names.push(`${id}.x.1.${KEY}.5`, `nothing.0.1.${KEY}.5`, `.${id}.0.1.${KEY}.5`);
    for (const name of names) writeFileSync(path.join(state, "spent", DAY, name), "");
    expect(await spending.total(DAY, KEY)).toBe(3);
  });

  it("refuses what would be another path or is no price", async () => {
    const { state, spending } = await newSpending();
    const prices = [-1, Number.NaN, Number.POSITIVE_INFINITY, 1e21].map((credits) => ({ credits }));
    const others = [{ task: "../x" }, { keyId: "a/b" }, { keyId: "" }, { request: -1 }, { part: -1 }];
    for (const bad of [...prices, ...others])
      await expect(spending.announce(DAY, { ...charge(1, 1), ...bad }, null)).rejects.toThrow(TypeError);
    await expect(spending.announce("../x", charge(1, 1), null)).rejects.toThrow(TypeError);
    expect(readdirSync(state)).toEqual([]);
  });

  it("reports a folder that cannot be used, and nothing passes then", async () => {
    const { state, spending } = await newSpending();
    writeFileSync(path.join(state, "spent"), "");
    await expect(spending.announce(DAY, charge(1, 1), 5)).rejects.toMatchObject({ type: "save_failed" });
  });
});

/** Announces a price of 1 for each of its tasks, and withdraws some that passed, as what was refused. */
const WORKER = `
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "./src/lib/clock.ts";
import { DailySpending } from "./src/store/running-sum.ts";
const { folder, first, count, cap, day, keyId } = workerData;
const spending = new DailySpending(folder, systemClock, Math.random);
let passed = 0;
for (let at = first; at < first + count; at++) {
  const task = "20260131T120000000-" + at.toString(16).padStart(8, "0");
  const charge = { task, request: 0, part: 1, keyId, credits: 1.5 };
  if (!(await spending.announce(day, charge, cap)).ok) continue;
  if (at % 3 === 0) await spending.withdraw(day, charge);
  else passed += 1;
}
parentPort.postMessage(passed);
`;

it("several that announce at the same time never pass the cap together, and use it up", async () => {
  const { state, spending } = await newSpending();
  const entry = path.resolve("spending-worker.js");
  const { output } = await build({
    input: entry,
    platform: "node",
    write: false,
    plugins: [
      {
        name: "worker",
        resolveId: (id: string) => (id === entry ? id : null),
        load: (id: string) => (id === entry ? WORKER : null),
      },
    ],
  });
  const code = new URL(`data:text/javascript,${encodeURIComponent(output[0].code)}`);
  const passed = await Promise.all(
    Array.from({ length: 6 }, (_, at) => {
      const folder = path.join(state, "spent");
      const workerData = { folder, first: at * 100, count: 12, cap: 30, day: DAY, keyId: KEY };
      const worker = new Worker(code, { workerData });
      return new Promise<number>((resolve, reject) => {
        worker.once("message", resolve);
        worker.once("error", reject);
      });
    }),
  );
  const total = passed.reduce((sum, count) => sum + count) * 1.5;
  expect(await spending.total(DAY, KEY)).toBe(total);
  expect(total).toBeLessThanOrEqual(30);
  expect(total).toBeGreaterThan(20);
}, 30_000);
