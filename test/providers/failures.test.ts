import { describe, expect, it } from "vitest";
import { runRequest } from "../../src/providers/failures.ts";
import { type Failure, ProviderError } from "../../src/providers/provider.ts";
import { told } from "./job.ts";

const ended = (failure: Failure, options = {}) =>
  runRequest(async () => {
    throw new ProviderError("The words.", failure, options);
  });

describe("a failure", () => {
  it.each<[Failure, string, object]>([
    [{ kind: "unsent" }, "not_sent", { error: { type: "network", charged: "no" } }],
    [
      { kind: "account", key: "login_required" },
      "auth_required",
      { error: { key: "login_required", charged: "no" } },
    ],
    [
      { kind: "account", key: "my_credits.no_credits_description" },
      "insufficient_credits",
      { error: { charged: "no" } },
    ],
    [
      { kind: "busy", retryAfterMs: 5 },
      "rate_limited",
      { retryAfterMs: 5, error: { type: "service_error" } },
    ],
    [{ kind: "invalid" }, "invalid_request", { error: { charged: "no" } }],
    [{ kind: "refused" }, "generation_failed", { error: { charged: "no" } }],
  ])("%j says that nothing was charged", async (failure, what, facts) => {
    const reply = await ended(failure);
    expect(told(reply)).toEqual({ what, message: "The words.", hint: "Nothing was charged." });
    expect(reply).toMatchObject(facts);
  });

  it("may have a hint of its own, and the cause that a connection had", async () => {
    const cause = new Error("ECONNREFUSED");
    const reply = await ended({ kind: "unsent" }, { hint: "Start it.", cause });
    expect(reply).toMatchObject({ cause, error: { hint: "Start it." } });
  });

  it("after which the request may be charged says what is known of it", async () => {
    const reply = await ended({ kind: "lost", savedPath: "/x/reply", isStopped: true });
    expect(reply).toMatchObject({
      outcome: "unknown",
      why: "the words",
      excerpt: null,
      savedPath: "/x/reply",
      isStopped: true,
    });
  });
});

describe("an error that nobody expected", () => {
  it("before the request is sent costs nothing", async () => {
    const reply = await runRequest(async () => {
      throw new Error("a bug");
    });
    expect(told(reply)).toMatchObject({ what: "not_sent", message: "Nothing was sent: a bug." });
  });

  it("once it is sent leaves it unknown", async () => {
    let calls = 0;
    const reply = await runRequest(
      async (onSent) => {
        onSent();
        onSent();
        throw new Error("a bug");
      },
      () => (calls += 1),
    );
    expect(told(reply)).toMatchObject({ what: "unknown", message: "a bug" });
    expect(calls).toBe(1);
  });
});
