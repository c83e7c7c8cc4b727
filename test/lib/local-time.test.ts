import { describe, expect, it } from "vitest";
import { formatAge, localDay, localMinute, parseSince } from "../../src/lib/local-time.ts";
import { words } from "../support/words.ts";

it("local time is the day and the minute of the clock on the wall", () => {
  const date = new Date(2026, 0, 5, 9, 7, 59);
  expect(localDay(date)).toBe("2026-01-05");
  expect(localMinute(date)).toBe("2026-01-05 09:07");
});

describe("since when", () => {
  const NOW = Date.UTC(2026, 5, 15, 12);

  it.each([
    ["30m", 30 * 60_000],
    ["12h", 12 * 3_600_000],
    ["7d", 7 * 86_400_000],
    ["2w", 14 * 86_400_000],
    ["0d", 0],
  ])("%s is so long ago", (text, agoMs) => {
    expect(parseSince(text, NOW)).toBe(NOW - agoMs);
  });

  it.each([
    ["2026-01-31", new Date(2026, 0, 31).getTime()],
    ["2026-01-31T12:05", new Date(2026, 0, 31, 12, 5).getTime()],
    ["2026-01-31 12:05", new Date(2026, 0, 31, 12, 5).getTime()],
    ["2026-01-31T12:05:06.789Z", Date.UTC(2026, 0, 31, 12, 5, 6, 789)],
    ["2026-01-31T12:05+02:00", Date.UTC(2026, 0, 31, 10, 5)],
    ["2024-02-29", new Date(2024, 1, 29).getTime()],
  ])("%s is that moment, here where no zone is given", (text, ms) => {
    expect(parseSince(text, NOW)).toBe(ms);
  });

  it.each([...words("7 d -7d 7y 2026-02-29 2026-13-01 2026-1-1 tomorrow 31.01.2026"), "", "7 d"])(
    "%j is none",
    (text) => {
      expect(parseSince(text, NOW)).toBeNull();
    },
  );
});

describe("how long ago a moment was", () => {
  const now = new Date(2026, 0, 31, 12, 5).getTime();
  it.each([
    [0, "now"],
    [59_999, "now"],
    [60_000, "1 min ago"],
    [59 * 60_000 + 59_999, "59 min ago"],
    [3_600_000, "1 h ago"],
    [24 * 3_600_000 - 1, "23 h ago"],
    [6 * 24 * 3_600_000, "6 d ago"],
    [7 * 24 * 3_600_000, "2026-01-24"],
    [-60_000, "2026-01-31"],
  ])("is said of %i ms as %s", (ageMs, text) => {
    expect(formatAge(new Date(now - ageMs), now)).toBe(text);
  });
});
