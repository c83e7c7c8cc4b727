import { describe, expect, it } from "vitest";
import { BlockedAddressError } from "../../src/api/address.ts";
import {
  backoffMs,
  DOWNLOAD,
  isWorthRetry,
  POLL,
  POLL_RATE_LIMITED,
  SUBMIT_NOT_SENT,
  SUBMIT_RATE_LIMITED,
} from "../../src/api/retry.ts";
import { TransportError } from "../../src/api/transport.ts";

describe("how often an operation is tried", () => {
  it("is what its rule says: a request that never left 4 times, 429 five times more, a download 6 times", () => {
    expect(SUBMIT_NOT_SENT.attempts).toBe(4);
    expect(SUBMIT_RATE_LIMITED.attempts).toBe(1 + 5);
    expect(DOWNLOAD.attempts).toBe(6);
  });

  it("has no end for a poll: the deadline is its end", () => {
    expect([POLL.attempts, POLL_RATE_LIMITED.attempts]).toEqual([Infinity, Infinity]);
  });
});

describe("whether a failure is worth a retry", () => {
  it.each([408, 425, 429, 500, 503, 599])(
    "a reply with %d is: it may be another one in a moment",
    (status) => {
      expect(isWorthRetry(status)).toBe(true);
    },
  );

  it.each([200, 301, 400, 401, 403, 404, 410, 422])(
    "a reply with %d is not: it says what it says",
    (status) => {
      expect(isWorthRetry(status)).toBe(false);
    },
  );

  it.each(["ECONNRESET", "ECONNREFUSED", "EAI_AGAIN", "ETIMEDOUT", "ERR_SSL_WRONG_VERSION_NUMBER"])(
    "a connection that ended with %s is, and so is an error without a code",
    (code) => {
      const cause = Object.assign(new Error("no connection"), { code });
      expect(isWorthRetry(new TransportError("no connection", { sent: true, cause }))).toBe(true);
      expect(isWorthRetry(new Error("anything"))).toBe(true);
    },
  );

  it("a fault of this process is not: another attempt would fail alike", () => {
    const cause = new ReferenceError("WebAssembly is not defined");
    expect(isWorthRetry(new TransportError("failed", { sent: false, cause }))).toBe(false);
  });

  it("a rejected certificate, and an address that must not be connected to, are not", () => {
    const expired = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
    for (const cause of [expired, new BlockedAddressError("127.0.0.1 is not a public address")])
      expect(isWorthRetry(new TransportError("no connection", { sent: false, cause }))).toBe(false);
  });
});

describe("the wait after a failure", () => {
  it.each([
    [SUBMIT_NOT_SENT, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [POLL, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [DOWNLOAD, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [SUBMIT_RATE_LIMITED, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [POLL_RATE_LIMITED, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
  ])("of %j doubles up to 20 s at the most", (rule, ceilings) => {
    const longest = ceilings.map((_, at) => backoffMs(rule, at + 1, null, () => 1));
    expect(longest).toEqual(ceilings);
  });

  it("is never shorter than the service asked for, and longer where chance says so", () => {
    expect(backoffMs(POLL, 1, 3000, () => 1)).toBe(3000);
    expect(backoffMs(POLL, 1, 45_000, () => 0)).toBe(45_000);
    expect(backoffMs(POLL, 5, 3000, () => 1)).toBe(8000);
  });
});
