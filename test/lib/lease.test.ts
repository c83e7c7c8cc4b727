import { describe, expect, it } from "vitest";
import { isHeld, type Lease, newLease, parseLease } from "../../src/lib/lease.ts";
import { identity, someProcesses } from "../support/some-processes.ts";

const NOW = Date.UTC(2026, 0, 31, 12);
const HOUR = 3_600_000;
const world = someProcesses(1, 2);

const alive = identity(2);
const dead = identity(3);
const elsewhere = identity(3, "elsewhere");
const lease = (by: Lease["by"], untilMs: number, fromMs = -1) => ({
  by,
  from: NOW + fromMs,
  until: NOW + untilMs,
});

describe("a lease", () => {
  it.each<[string, Lease | null, boolean]>([
    ["that is damaged", null, false],
    ["of this process", lease(identity(1), 1), true],
    ["of a living process whose time is not up", lease(alive, 1), true],
    ["of a living process whose time is up", lease(alive, 0), false],
    ["of a dead process whose time is not up", lease(dead, 1), false],
    ["of another machine whose time is not up", lease(elsewhere, 1), true],
    ["of another machine whose time is up", lease(elsewhere, 0), false],
    ["of nobody whose time is not up", lease(null, 1), true],
    ["of nobody whose time is up", lease(null, -1), false],
    ["that was taken by a clock that is ahead", lease(alive, 2 * HOUR, HOUR), true],
    ["of a dead process that was taken by a clock that is ahead", lease(dead, 2 * HOUR, HOUR), false],
    ["that lasts a day", lease(null, 24 * HOUR), true],
    ["that lasts much longer than a day", lease(alive, 25 * HOUR), false],
    ["whose end is no time", lease(alive, Number.NaN), false],
  ])("%s", (_what, each, expected) => {
    expect(isHeld(each, world.as(1), NOW)).toBe(expected);
  });

  it("is read back as it was written", () => {
    for (const each of [lease(alive, 1), lease(elsewhere, 1), lease(null, 1)])
      expect(parseLease(JSON.stringify(each))).toEqual(each);
  });

  it.each([
    "",
    "null",
    "[]",
    "{}",
    '{"by":null,"from":5',
    '{"from":5,"until":6}',
    '{"by":null,"from":5,"until":"soon"}',
    '{"by":{"pid":"2","host":"here","scope":"here","started":"1"},"from":5,"until":6}',
  ])("is none where it reads %s", (text) => {
    expect(parseLease(text)).toBeNull();
  });

  it("ends after its time, or after a day", () => {
    expect(newLease(alive, 1000, NOW)).toEqual(lease(alive, 1000, 0));
    for (const ms of [25 * HOUR, Number.POSITIVE_INFINITY])
      expect(newLease(null, ms, NOW)).toEqual(lease(null, 24 * HOUR, 0));
  });
});
