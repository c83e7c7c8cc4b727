import { describe, expect, it } from "vitest";
import { statedWaitMs } from "../../src/api/stated-wait.ts";
import { words } from "../support/words.ts";

const NOW = Date.UTC(2026, 0, 31, 12, 0, 0);

describe("Retry-After", () => {
  it.each([
    ["0", 0],
    ["1", 1000],
    ["120", 120_000],
    ["0.25", 250],
    ["1.5", 1500],
    [" 7 ", 7000],
    ["Sat, 31 Jan 2026 12:00:30 GMT", 30_000],
    ["Saturday, 31-Jan-26 12:00:30 GMT", 30_000],
    ["Sat Jan 31 12:00:30 2026 GMT", 30_000],
  ])("%j asks for %i ms", (header, ms) => {
    expect(statedWaitMs({ headers: { "retry-after": header } }, NOW)).toBe(ms);
  });

  it.each([
    ...words("-1 -0.5 +1 1e3 0x10 NaN Infinity 1,5 soon 2026-01-31T12:00:30Z"),
    undefined,
    "",
    " ",
    "1 2",
    "Mon, nonsense",
    "Sat, 31 Jan 2026 11:59:59 GMT",
    "9".repeat(400),
  ])("%j is ignored", (header) => {
    expect(statedWaitMs({ headers: { "retry-after": header } }, NOW)).toBeNull();
  });

  it("counts once where it came twice", () => {
    expect(statedWaitMs({ headers: { "retry-after": ["2", "5"] } }, NOW)).toBe(2000);
    expect(statedWaitMs({ headers: { "retry-after": [] } }, NOW)).toBeNull();
  });
});

it("retry-after-ms is the same time as Retry-After, unrounded", () => {
  expect(statedWaitMs({ headers: { "retry-after-ms": "250", "retry-after": "1" } }, NOW)).toBe(250);
});

const inBody = (body: unknown) =>
  statedWaitMs({ headers: {}, body: typeof body === "string" ? body : JSON.stringify(body) }, NOW);

describe("a body", () => {
  it.each<[unknown, number]>([
    [{ detail: "Too many requests", retry_after: 9 }, 9000],
    [{ error: { retryAfter: "2.5" } }, 2500],
    [{ retry_after_ms: 1200 }, 1200],
    [
      {
        error: {
          code: 429,
          details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "36.911s" }],
        },
      },
      36_911,
    ],
    [{ error: { message: "Rate limit reached. Please try again in 20s." } }, 20_000],
    [{ error: { message: "Please try again in 6m0s. Visit https://example.com" } }, 360_000],
    [{ error: { message: "Try again in 120ms." } }, 120],
    [{ error: { message: "Please retry after 26 seconds." } }, 26_000],
    [{ detail: "Your rate limit resets in ~9s." }, 9000],
    [{ message: "Please wait 2 minutes and 5 seconds" }, 125_000],
    ["Busy: retry in 1.5 hours", 5_400_000],
  ])("%j asks for %i ms", (body, ms) => {
    expect(inBody(body)).toBe(ms);
  });

  it.each<[unknown]>([
    ["later"],
    [{ retry_after: null }],
    [{ retry_after: -1 }],
    [{ message: "Try again in 5 images" }],
    [{ message: "Up to 20 s of video" }],
    ["[".repeat(5000)],
  ])("%j names no time", (body) => {
    expect(inBody(body)).toBeNull();
  });

  it("with another time than its head counts where that is longer", () => {
    const body = '{"error":{"message":"Try again in 20s"}}';
    expect(statedWaitMs({ headers: { "retry-after": "1" }, body }, NOW)).toBe(20_000);
    expect(statedWaitMs({ headers: { "retry-after": "60" }, body }, NOW)).toBe(60_000);
  });
});
