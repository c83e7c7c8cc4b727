import fc from "fast-check";
import { expect, it } from "vitest";
import { backoffMs, parseRetryAfter } from "../../src/api/retry.ts";
import { holds } from "../support/holds.ts";

const NOW = Date.UTC(2026, 0, 31, 12);
const digits = fc.oneof(fc.nat(200), fc.maxSafeNat()).map(String);

it("seconds, decimals too, are taken for what they are", () => {
  holds(
    fc.property(digits, fc.option(digits), fc.constantFrom("", " "), (whole, part, space) => {
      const text = part === null ? whole : `${whole}.${part}`;
      expect(parseRetryAfter(`${space}${text}${space}`, NOW)).toBe(Number(text) * 1000);
    }),
  );
});

it("a date asks for the time until then, and one that has passed for nothing", () => {
  const seconds = fc.integer({ min: -10_000_000, max: 10_000_000 });
  holds(
    fc.property(seconds, (ahead) => {
      const date = new Date(NOW + ahead * 1000).toUTCString();
      expect(parseRetryAfter(date, NOW)).toBe(ahead < 0 ? null : ahead * 1000);
    }),
  );
});

it("anything else is ignored, and nothing ever asks for less than no time or for ever", () => {
  const near = fc
    .tuple(fc.constantFrom("-", "+", "1e", "0x", "Sat, ", "Sun ", "NaN", ""), fc.string({ maxLength: 6 }))
    .map((parts) => parts.join(""));
  const header = fc.oneof(
    near,
    digits,
    fc.array(near, { maxLength: 2 }),
    fc.constantFrom(undefined, "9".repeat(400)),
  );
  holds(
    fc.property(header, (value) => {
      const ms = parseRetryAfter(value, NOW);
      expect(ms === null || (Number.isFinite(ms) && ms >= 0)).toBe(true);
      const first = Array.isArray(value) ? value[0] : value;
      if (!/^\s*([0-9]|[a-z]{3})/i.test(first ?? "")) expect(ms).toBeNull();
    }),
  );
});

it("the next try comes no sooner than asked for, and else within the rule's limits", () => {
  const rule = fc.record({ attempts: fc.nat(9), baseMs: fc.constantFrom(500, 1000) });
  const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  holds(
    fc.property(
      rule,
      fc.integer({ min: 1, max: 2000 }),
      fc.option(fc.nat(1e9)),
      chance,
      (rule, failures, asked, luck) => {
        const ms = backoffMs(rule, failures, asked, () => luck);
        expect(ms).toBeGreaterThanOrEqual(asked ?? 0);
        expect(ms).toBeLessThanOrEqual(Math.max(20_000, asked ?? 0));
        if (asked === null) expect(ms).toBeLessThanOrEqual(rule.baseMs * 2 ** Math.min(failures - 1, 10));
      },
    ),
  );
});
