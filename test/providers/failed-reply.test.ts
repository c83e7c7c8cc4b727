import { describe, expect, it } from "vitest";
import { failedReply, readErrorBody } from "../../src/providers/failed-reply.ts";

const asked = {
  hasKey: true,
  keyVariable: "IMGGEN_GENERATOR_KEY",
  host: "gpubox:1234",
  address: "http://gpubox:1234/v1",
  isPaid: true,
  mask: (text: string) => text,
  nowMs: 0,
};

function failed(
  status: number,
  error: object | string = {},
  options: { isPaid?: boolean; retryAfter?: string } = {},
) {
  const { isPaid = true, retryAfter } = options;
  const headers = retryAfter === undefined ? {} : { "retry-after": retryAfter };
  return failedReply({ status, headers, body: JSON.stringify({ error }) }, { ...asked, isPaid });
}

function failedBody(status: number, body: object) {
  return failedReply({ status, headers: {}, body: JSON.stringify(body) }, asked);
}

const BUSY = { kind: "busy", retryAfterMs: null };
const LOGIN = { kind: "account", key: "login_required" };
const CREDITS = { kind: "account", key: "my_credits.no_credits_description" };

describe("a reply", () => {
  it.each([401, 403])("with %i would come for every other request too", (status) => {
    expect(failed(status).failure).toEqual(LOGIN);
  });

  it.each([
    [402, ""],
    [429, "insufficient_quota"],
    [400, "billing_hard_limit_reached"],
    [403, "project_spend_limit_exceeded"],
    [429, "billing_not_active"],
    [400, "budget_exceeded"],
    [403, "insufficient_user_quota"],
  ])("with %i %s is of an account that cannot pay", (status, code) => {
    expect(failed(status, { code }).failure).toEqual(CREDITS);
    expect(failed(status, { type: code, code: null }).failure).toEqual(CREDITS);
  });

  it.each([
    ["12", 12_000],
    ["0.5", 500],
    ["Thu, 01 Jan 1970 00:00:30 GMT", 30_000],
    ["soon", null],
    [undefined, null],
  ])("with 429 and Retry-After %s is a rate limit", (retryAfter, retryAfterMs) => {
    const options = retryAfter === undefined ? {} : { retryAfter };
    expect(failed(429, {}, options).failure).toEqual({ kind: "busy", retryAfterMs });
  });

  it.each<[string, number, object]>([
    ["fal", 403, { detail: "User is locked. Reason: Exhausted balance. Top up your balance." }],
    ["SiliconFlow", 403, { code: 30001, message: "Sorry, your account balance is insufficient" }],
    ["SiliconFlow, without words", 403, { code: 30001, data: null }],
    ["xAI", 429, { error: "Your team has used all available credits or reached its spending limit." }],
    ["xAI, a new team", 403, { code: "no access", error: "Your team doesn't have any credits yet." }],
    ["new-api", 403, { error: { code: "pre_consume_token_quota_failed", message: "No." } }],
    ["a plan", 429, { error: { message: "You exceeded your quota, check your plan and billing details." } }],
    ["an overdue bill", 403, { message: "Your account is overdue" }],
  ])("of %s whose words or codes are about money is of an account that cannot pay", (_who, status, body) => {
    expect(failedBody(status, body).failure).toEqual(CREDITS);
  });

  it.each([
    ["per minute with words about quota", "GenerateRequestsPerMinutePerProjectPerModel", "5", "busy"],
    ["per day, whatever time it names", "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "5", "account"],
    ["of 0", "GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "0", "account"],
  ])("from Gemini about a limit %s is %4$s", (_what, quotaId, limit, kind) => {
    const message = `You exceeded your current quota, check your plan and billing. * limit: ${limit}, model: x`;
    const details = [{ violations: [{ quotaId }] }, { retryDelay: "36s" }];
    const error = { code: 429, status: "RESOURCE_EXHAUSTED", message, details };
    expect(failedBody(429, { error }).failure.kind).toBe(kind);
  });

  it.each([
    [403, "5", { code: "quota", message: "Exhausted balance." }],
    [429, "900", { message: "Your credits and your quota allow 6 requests." }],
  ])("with %i that may be sent again in %s s is busy, whatever it says", (status, retryAfter, error) => {
    const retryAfterMs = Number(retryAfter) * 1000;
    expect(failed(status, error, { retryAfter }).failure).toEqual({ kind: "busy", retryAfterMs });
  });

  it.each([
    [{ code: "insufficient_quota" }, "5", { kind: "busy", retryAfterMs: 5000 }],
    [{ code: "insufficient_quota" }, "901", CREDITS],
    [{ message: "Out of credits." }, "901", CREDITS],
    [{ message: "Busy." }, "901", { kind: "busy", retryAfterMs: 901_000 }],
    [{ code: "rate_limit_exceeded", message: "Add credits for a higher limit." }, undefined, BUSY],
  ])(
    "with 429 and %j is about money, unless it names a rate limit or a time of minutes: %s",
    (error, after, failure) => {
      expect(failed(429, error, after === undefined ? {} : { retryAfter: after }).failure).toEqual(failure);
    },
  );

  it.each([
    ["You will not be charged for this request.", "refused"],
    ["Something broke. You weren't billed", "refused"],
    ["No credits were deducted.", "refused"],
    ["Your credits have been refunded.", "refused"],
    ["You will not be charged again.", "lost"],
    ["You may be charged.", "lost"],
    ["Refunds are not possible.", "lost"],
  ])("with 500 that says “%s” is %s", (message, kind) => {
    expect(failed(500, { message }).failure).toEqual({ kind });
  });

  const LOADING = { error: { code: 503, message: "Loading model", type: "unavailable_error" } };
  const starting = (retryAfterMs: number | null) => ({ kind: "busy", retryAfterMs, isStarting: true });

  it.each<[number, object | string, object, object]>([
    [503, {}, { isPaid: false, retryAfter: "5" }, starting(5000)],
    [503, LOADING, { isPaid: false }, starting(null)],
    [503, LOADING, { isPaid: true }, { kind: "lost" }],
    [503, "A workload", { isPaid: false }, { kind: "lost" }],
    [503, {}, { isPaid: true, retryAfter: "5" }, { kind: "lost" }],
    [503, {}, { isPaid: false }, { kind: "lost" }],
    [500, {}, { isPaid: false, retryAfter: "5" }, { kind: "lost" }],
  ])(
    "with %i, %j of a free generator that starts is waited for, and any other is lost: %j",
    (status, error, how, failure) => {
      expect(failed(status, error, how).failure).toEqual(failure);
    },
  );

  it("with 500 proves nothing of a paid request, whatever code it carries", () => {
    const code = "insufficient_quota";
    expect(failed(500, { code }).failure).toEqual({ kind: "lost" });
    expect(failed(500, { code }, { isPaid: false }).failure).toEqual(CREDITS);
  });

  it.each([409, 451, 499])(
    "with %i is a refusal of a free image, and proves nothing of a paid one",
    (status) => {
      expect(failed(status, {}, { isPaid: false }).failure).toEqual({ kind: "refused" });
      expect(failed(status).failure).toEqual({ kind: "lost" });
    },
  );

  it.each([
    [[400, 404, 405, 413, 415, 422, 301, 307, 308], "says that this request is wrong", "invalid"],
    [[100, 204, 302, 303, 408, 500, 502, 503, 504, 520, 524], "may have cost an image", "lost"],
  ])("with any of %j %s", (statuses, _what, kind) => {
    for (const status of statuses) expect([status, failed(status).failure]).toEqual([status, { kind }]);
  });

  it.each([
    { message: "Flagged by moderation." },
    { message: "It violates our content policy." },
    { message: "Stopped by the safety system" },
    { code: "moderation_blocked" },
    { code: "content_policy_violation" },
    { code: "contentFilter" },
    { code: "image_generation_user_error" },
  ])("with %j refuses this image alone, also with 403", (error) => {
    for (const status of [400, 403]) expect(failed(status, error).failure).toEqual({ kind: "refused" });
  });
});

describe("a message", () => {
  it.each([
    [401, "gpubox:1234 does not accept the key (HTTP 401: Why). Set a valid key"],
    [402, "no credit left, or has reached a limit (HTTP 402: Why). Add credit"],
    [403, "does not allow this account to make images (HTTP 403: Why)."],
    [404, "does not have this address or model (HTTP 404: Why). Check the address and the model"],
    [308, "redirects to another address"],
    [429, "gpubox:1234 is busy (HTTP 429: Why)."],
    [400, "gpubox:1234 does not accept the request (HTTP 400: Why)."],
    [409, "No image came from gpubox:1234 (HTTP 409: Why)."],
    [524, "No image came from gpubox:1234 (HTTP 524: Why)."],
  ])("for %i says what happened, in the server's words, and what to do", (status, message) => {
    expect(failed(status, { message: "Why." }).message).toContain(message);
  });

  it("does not say of a key that was not sent that it is not accepted", () => {
    const reply = { status: 401, headers: {}, body: JSON.stringify({ error: "Why" }) };
    const { message, failure } = failedReply(reply, { ...asked, hasKey: false });
    expect(message).toMatch(/^gpubox:1234 needs a key, but the request had none \(HTTP 401: Why\)\./);
    expect(failure).toEqual(failed(401).failure);
  });

  it("has the key hidden", () => {
    const mask = (text: string) => text.replaceAll("s3cret", "…");
    const reply = { status: 401, headers: {}, body: JSON.stringify({ error: "Wrong key s3cret" }) };
    expect(failedReply(reply, { ...asked, mask }).message).toContain("Wrong key …");
  });
});

it.each<[string, unknown, string | null]>([
  [
    "OpenAI's object",
    { error: { message: "Bad size.", type: "invalid_request_error", param: null } },
    "Bad size",
  ],
  ["a text, as of sd-server", { error: "prompt required" }, "prompt required"],
  ["a code beside a message", { error: "server_error", message: "out of memory" }, "out of memory"],
  ["a detail, as of vLLM-Omni", { detail: "Not Found" }, "Not Found"],
  [
    "a list of details",
    {
      detail: [
        { loc: ["body", "size"], msg: "Field required" },
        { loc: ["body", "n"], msg: "Too many" },
      ],
    },
    "body.size: Field required; body.n: Too many",
  ],
  [
    "an object of AUTOMATIC1111",
    { error: "HTTPException", detail: "", body: "", errors: "Sampler not found" },
    "Sampler not found",
  ],
  ["a list, as of Gemini", [{ error: { code: 400, message: "Invalid." } }], "Invalid"],
  ["a text alone", "overloaded", "overloaded"],
  ["nothing to read", { error: null }, null],
  ["a message that is empty", { error: { message: "", type: "server_error" } }, null],
])("the words of a refusal are read from %s", (_form, body, words) => {
  expect(readErrorBody(JSON.stringify(body)).words).toBe(words);
});

it.each([
  ["", null],
  ["  \n", null],
  ["upstream timed out", "upstream timed out"],
  ["<html><head><title>502 Bad\nGateway</title></head></html>", "a page with the title “502 Bad Gateway”"],
  ["<html></html>", "a page without a title"],
  ['{"error":{"message":"cut sho', '{"error":{"message":"cut sho'],
])("a body that is no JSON has words too: %j", (body, words) => {
  expect(readErrorBody(body)).toEqual({ isJson: false, words, codes: [], code: null, field: null });
});

it("words are one line, and not longer than a few", () => {
  const { words } = readErrorBody(JSON.stringify({ error: { message: `No.\n\n${"ha ".repeat(1000)}` } }));
  expect(words).toMatch(/^No\. ha ha .*…$/);
  expect(words?.length).toBeLessThanOrEqual(501);
});

it("nobody is heard below thousands of levels", () => {
  const deep = `${'{"error":'.repeat(3000)}"x"${"}".repeat(3000)}`;
  expect(readErrorBody(deep).words).toBeNull();
});

it("codes, types and the field at fault are found wherever they are", () => {
  const error = { code: 400, type: "image_generation_user_error", status: "INVALID", param: "size" };
  expect(readErrorBody(JSON.stringify({ error }))).toMatchObject({
    codes: ["400", "image_generation_user_error", "INVALID"],
    field: "size",
  });
});
