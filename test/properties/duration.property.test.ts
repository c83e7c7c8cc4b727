import fc from "fast-check";
import { expect, it } from "vitest";
import { formatDuration, parseDuration } from "../../src/lib/duration.ts";
import { anyCharacter } from "../support/any-character.ts";
import { holds } from "../support/holds.ts";

const WEEK_MS = 7 * 24 * 3_600_000;
const UNIT_MS = { ms: 1n, s: 1000n, m: 60_000n, h: 3_600_000n, "": 1000n };
const unit = fc.constantFrom("ms", "s", "m", "h", "");
const digits = fc.oneof(fc.nat(1000).map(String), fc.bigInt({ min: 0n, max: 10n ** 20n }).map(String));

/** Whole milliseconds of `whole.fraction` units, rounded half up; null beyond a week. Exact, in integers. */
function exactMs(whole: string, fraction: string, unit: keyof typeof UNIT_MS): number | null {
  const scale = 10n ** BigInt(fraction.length);
  const scaled = BigInt(whole + fraction) * UNIT_MS[unit];
  if (scaled > BigInt(WEEK_MS) * scale) return null;
  return Number((scaled * 2n + scale) / (2n * scale));
}

it("a well-formed duration is what exact arithmetic makes it, to a millisecond, and never more than a week", () => {
  const fraction = fc.oneof(fc.constant(""), fc.stringMatching(/^[0-9]{1,6}$/));
  const space = fc.constantFrom("", " ", "\t");
  holds(
    fc.property(digits, fraction, unit, space, (whole, part, unit, space) => {
      const ms = parseDuration(`${space}${whole}${part && `.${part}`}${unit}${space}`);
      const exact = exactMs(whole, part, unit);
      expect(ms === null).toBe(exact === null);
      if (ms === null) return;
      expect(Number.isInteger(ms)).toBe(true);
      expect(ms).toBeLessThanOrEqual(WEEK_MS);
      // A half may fall either way in floating point.
      expect(Math.abs(ms - (exact ?? 0))).toBeLessThanOrEqual(1);
    }),
  );
});

it("any other text is no duration", () => {
  const near = fc.tuple(
    fc.constantFrom("-", "+", ".", "1e", "0x", "", "1 ", "1,"),
    digits,
    fc.constantFrom(".", "..5", "e3", " s", "S", "sec", "d", "ms1", "\0", "∞", "٣"),
  );
  holds(
    fc.property(
      fc.oneof(
        near.map((parts) => parts.join("")),
        fc.string({ unit: anyCharacter }),
      ),
      (text) => {
        if (!/^\s*[0-9]+(\.[0-9]+)?(ms|[smh])?\s*$/.test(text)) expect(parseDuration(text)).toBeNull();
      },
    ),
  );
});

it("a duration for people is short, shows no sixty of a unit, and is right to its last figure", () => {
  const PEOPLE = /^(?:(\d+) h ?)?(?:(\d+) min ?)?(?:([\d.]+) s)?(?:(\d+) ms)?$/;
  holds(
    fc.property(fc.double({ min: 0, max: WEEK_MS, noNaN: true }), (ms) => {
      const shown = formatDuration(ms);
      const [hours, minutes, seconds, rest] = (PEOPLE.exec(shown) ?? [])
        .slice(1)
        .map((part) => Number(part ?? 0));
      expect(Math.max(minutes ?? 60, seconds ?? 60)).toBeLessThan(60);
      const told = (hours ?? 0) * 3_600_000 + (minutes ?? 0) * 60_000 + (seconds ?? 0) * 1000 + (rest ?? 0);
      const lastFigureMs = ms < 999 ? 1 : ms < 59_900 ? 100 : ms < 3_599_000 ? 1000 : 60_000;
      expect(Math.abs(told - ms)).toBeLessThanOrEqual(lastFigureMs);
      expect(shown.length).toBeLessThanOrEqual(12);
    }),
  );
});
