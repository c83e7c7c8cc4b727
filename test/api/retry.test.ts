import { describe, expect, it } from "vitest";
import { BlockedAddressError } from "../../src/api/address.ts";
import { backoffMs, isRetryable } from "../../src/api/retry.ts";
import { TransportError } from "../../src/api/transport.ts";

const RULE = { attempts: 6, baseMs: 500 };

describe("whether a failure is worth a retry", () => {
  it.each([408, 425, 429, 500, 503, 599])(
    "a reply with %d is: it may be another one in a moment",
    (status) => {
      expect(isRetryable(status)).toBe(true);
    },
  );

  it.each([200, 301, 400, 401, 403, 404, 410, 422])(
    "a reply with %d is not: it says what it says",
    (status) => {
      expect(isRetryable(status)).toBe(false);
    },
  );

  it.each(["ECONNRESET", "ECONNREFUSED", "EAI_AGAIN", "ETIMEDOUT", "ERR_SSL_WRONG_VERSION_NUMBER"])(
    "a connection that ended with %s is, and so is an error without a code",
    (code) => {
      const cause = Object.assign(new Error("no connection"), { code });
      expect(isRetryable(new TransportError("no connection", { wasSent: true, cause }))).toBe(true);
      expect(isRetryable(new Error("anything"))).toBe(true);
    },
  );

  it("a fault of this process is not: another attempt would fail alike", () => {
    const cause = new ReferenceError("WebAssembly is not defined");
    expect(isRetryable(new TransportError("failed", { wasSent: false, cause }))).toBe(false);
  });

  it("a rejected certificate, and an address that must not be connected to, are not", () => {
    const expired = Object.assign(new Error("expired"), { code: "CERT_HAS_EXPIRED" });
    for (const cause of [expired, new BlockedAddressError("127.0.0.1 is not a public address")])
      expect(isRetryable(new TransportError("no connection", { wasSent: false, cause }))).toBe(false);
  });
});

describe("the wait after a failure", () => {
  it.each([
    [RULE, [500, 1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
    [{ ...RULE, baseMs: 1000 }, [1000, 2000, 4000, 8000, 16_000, 20_000, 20_000]],
  ])("of %j doubles up to 20 s at the most", (rule, ceilings) => {
    const longest = ceilings.map((_, at) => backoffMs(rule, at + 1, null, () => 1));
    expect(longest).toEqual(ceilings);
  });

  it("is never shorter than the service asked for, and longer where chance says so", () => {
    expect(backoffMs(RULE, 1, 3000, () => 1)).toBe(3000);
    expect(backoffMs(RULE, 1, 45_000, () => 0)).toBe(45_000);
    expect(backoffMs(RULE, 5, 3000, () => 1)).toBe(8000);
  });
});
