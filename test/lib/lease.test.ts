import { describe, expect, it } from "vitest";
import { isHeld, type Lease, leaseEnd, leaseIn } from "../../src/lib/lease.ts";
import { identity, someProcesses } from "../support/some-processes.ts";

const NOW = Date.UTC(2026, 0, 31, 12);
const HOUR = 3_600_000;
const world = someProcesses(1, 2);

const at = (ms: number) => new Date(NOW + ms).toISOString();
const held = (lease: Lease | null) => isHeld(lease, world.as(1), NOW);

const alive = identity(2);
const dead = identity(3);
const elsewhere = { ...identity(2), host: "elsewhere" };
const nobody = { by: null };

describe("a lease", () => {
  it.each<[string, Lease | null, boolean]>([
    ["that is damaged", null, false],
    ["of a living process", alive, true],
    ["of this process", identity(1), true],
    ["of a dead process", dead, false],
    ["of a dead process whose time is not up", { ...dead, until: at(1) }, false],
    ["of a living process whose time is not up", { ...alive, until: at(1) }, true],
    ["of a living process whose time is up", { ...alive, until: at(0) }, false],
    ["of another machine", elsewhere, false],
    ["of another machine whose time is not up", { ...elsewhere, until: at(1) }, true],
    ["of another machine whose time is up", { ...elsewhere, until: at(0) }, false],
    ["of another boot", { ...alive, boot: "other", until: at(1) }, true],
    ["of nobody", nobody, false],
    ["of nobody whose time is not up", { ...nobody, until: at(1) }, true],
    ["of nobody whose time is up", { ...nobody, until: at(-1) }, false],
    ["that was taken by a clock that is a minute ahead", { ...alive, at: at(60_000) }, true],
    ["that was taken later than that", { ...alive, at: at(60_001) }, false],
    ["that lasts a day", { ...nobody, until: at(24 * HOUR) }, true],
    ["that lasts much longer than a day", { ...alive, until: at(25 * HOUR) }, false],
    ["whose beginning is no time", { ...alive, at: "yesterday" }, false],
    ["whose end is no time", { ...alive, until: "tomorrow" }, false],
  ])("%s", (_what, lease, expected) => {
    expect(held(lease)).toBe(expected);
  });

  it("is read back as it was written", () => {
    for (const lease of [alive, { ...elsewhere, thread: 3, until: at(1) }, { ...nobody, at: at(0) }])
      expect(leaseIn(JSON.stringify(lease))).toEqual(lease);
  });

  it.each([
    "",
    "null",
    "[]",
    "{}",
    '{"pid":2,"ho',
    '{"pid":"2","host":"here","started":"1"}',
    '{"by":null,"until":5}',
  ])("is none where it reads %s", (text) => {
    expect(leaseIn(text)).toBeNull();
  });

  it("ends after its time, or after a day", () => {
    expect(leaseEnd(1000, NOW)).toBe(at(1000));
    for (const ms of [25 * HOUR, Number.POSITIVE_INFINITY]) expect(leaseEnd(ms, NOW)).toBe(at(24 * HOUR));
  });
});
