import { describe, expect, it } from "vitest";
import { OutcomeUnknownError } from "../../../src/api/api-errors.ts";
import { deadPort, liveServer } from "../../support/live-server.ts";
import { failure, json, response, success } from "../../support/scripted-server.ts";
import { drips, inTurn, reset, silence } from "../../support/scripts.ts";
import { TEST_KEY, testClient, testService } from "../../support/task-world.ts";

const REQUEST = { prompt: "a fox", model: "gamma-image-2" };
const ENVELOPE = { code: 0, message: "ok", data: { taskId: "t" } };
const HTML = "<!DOCTYPE html><title>Sign in to the network</title>";

/** A service that answers everything with these bytes. */
const answering = (bytes: Buffer | string) => liveServer((_request, socket) => void socket.end(bytes));

async function submitTo(bytes: Buffer | string) {
  const server = await answering(bytes);
  const reply = await testService(server.baseUrl).submit({ request: REQUEST });
  expect(server.submits()).toHaveLength(1);
  return reply;
}

async function pollOf(bytes: Buffer | string) {
  const server = await answering(bytes);
  return testService(server.baseUrl).poll("t");
}

describe("a submit", () => {
  it("is one POST of JSON with the key, as section 4.1 says", async () => {
    const server = await answering(success({ taskId: "3f9c" }));
    const request = { ...REQUEST, ratio: "1:1", maxImages: 2 };
    const reply = await testService(server.baseUrl).submit({ request });
    expect(reply).toEqual({ outcome: "accepted", taskId: "3f9c" });
    const headers = { authorization: `Bearer ${TEST_KEY}`, "content-type": "application/json" };
    expect(server.requests).toMatchObject([{ method: "POST", target: "/api/generate-image", headers }]);
    expect(JSON.parse(server.requests[0]?.body ?? "")).toEqual(request);
  });

  it("is accepted with a byte-order mark before its envelope", async () => {
    const reply = await submitTo(response(200, `\uFEFF${JSON.stringify(ENVELOPE)}`));
    expect(reply).toMatchObject({ outcome: "accepted" });
  });

  it("is accepted with any 2xx that holds a task id, and with unknown fields", async () => {
    const reply = { ...ENVELOPE, data: { taskId: "t", eta: 5 }, traceId: "x" };
    expect(await submitTo(json(reply, 201))).toEqual({ outcome: "accepted", taskId: "t" });
  });

  // Which key and status means what: errors.test.ts.
  it("is refused with a negative envelope, or a status that says no whatever the body is", async () => {
    const reply = await submitTo(failure("my_credits.no_credits_description"));
    const error = { type: "insufficient_credits", key: "my_credits.no_credits_description", charged: "no" };
    expect(reply).toMatchObject({ outcome: "refused", error });
    for (const body of [HTML, "", JSON.stringify(ENVELOPE)]) {
      const refusal = await submitTo(response(401, body));
      expect(refusal).toMatchObject({ outcome: "refused", error: { type: "auth_required", charged: "no" } });
    }
  });

  it("is refused by a whole envelope whose reply is cut after it", async () => {
    const no = JSON.stringify({ code: -1, message: "login_required" });
    const reply = await submitTo(response(200, no, { "content-length": "500" }));
    expect(reply).toMatchObject({ outcome: "refused" });
  });

  it("is turned away with 429, with what the service asks for", async () => {
    const limited = { outcome: "rate_limited", error: { type: "service_error", charged: "no" } };
    const asked = await submitTo(json(ENVELOPE, 429, { "retry-after": "7" }));
    expect(asked).toMatchObject({ ...limited, retryAfterMs: 7000 });
    expect(await submitTo(response(429, HTML))).toMatchObject({ ...limited, retryAfterMs: null });
  });

  // What is an envelope, and what a task id: schema.test.ts.
  it.each([
    ["HTTP 408", json(ENVELOPE, 408)],
    ["HTTP 500", response(500, "oops")],
    ["HTTP 500 with a negative envelope", failure("image_generation.error.unknown_error", 500)],
    ["HTTP 502 with HTML", response(502, HTML)],
    ["HTTP 503 with Retry-After", response(503, "", { "retry-after": "1" })],
    ["HTTP 504", response(504, "")],
    ["a redirect", response(302, "", { location: "/api/generate-image" })],
    ["a redirect that keeps the method", response(307, "", { location: "http://127.0.0.1:1/" })],
    ["a redirect with an envelope", json(ENVELOPE, 308)],
    ["a captive portal's page", response(200, HTML, { "content-type": "text/html" })],
    ["an empty reply", response(200, "")],
    ["no content", response(204, "")],
    ["no task id", success({})],
    ["a task id with a path in it", success({ taskId: "../../x" })],
    ["no envelope", json({ message: "ok", data: { taskId: "t" } })],
    ["JSON that is cut short", response(200, '{"code":0,"data":{"taskId":"t')],
    ["a body that is cut short", response(200, '{"code":0', { "content-length": "500" })],
    ["more than 1 MiB", json({ ...ENVELOPE, padding: "x".repeat(1024 * 1024) })],
    ["what is no HTTP", "220 smtp.example ESMTP\r\n"],
    ["an undocumented 2xx code with a negative status", json({ code: 5 }, 299)],
    ["an unknown HTTP status", json(ENVELOPE, 418)],
  ])("answered with %s may have been accepted", async (_what, bytes) => {
    expect(await submitTo(bytes)).toMatchObject({ outcome: "unknown", why: expect.stringMatching(/./) });
  });

  it("goes over a connection that has carried nothing else", async () => {
    const used = new Set<unknown>();
    const server = await liveServer((request, socket) => {
      if (request.method === "POST" && used.has(socket)) return void socket.resetAndDestroy();
      used.add(socket);
      socket.write(success({ taskId: "t", status: "processing" }));
    });
    const service = testService(server.baseUrl);
    for (let round = 0; round < 5; round++) {
      expect(await service.submit({ request: REQUEST })).toMatchObject({ outcome: "accepted" });
      expect(await service.poll("t")).toMatchObject({ outcome: "state" });
    }
    expect(used.size).toBe(6);
  });

  it("with no answer in its time may have been accepted", async () => {
    const server = await liveServer(() => {});
    const reply = await testService(server.baseUrl, { requestTimeoutMs: 80 }).submit({ request: REQUEST });
    expect(reply).toMatchObject({ outcome: "unknown", why: "no answer within 80 ms" });
  });

  it("whose connection was cut may have been accepted", async () => {
    const server = await liveServer(reset);
    const reply = await testService(server.baseUrl).submit({ request: REQUEST });
    expect(reply).toMatchObject({ outcome: "unknown" });
    expect(server.submits()).toHaveLength(1);
  });

  it("that reached no server was not sent", async () => {
    const service = testService(`http://127.0.0.1:${await deadPort()}/api`);
    const unsent = { outcome: "not_sent", cause: { wasSent: false } };
    expect(await service.submit({ request: REQUEST })).toMatchObject(unsent);
  });
});

describe("a poll of a task", () => {
  it("is one GET with the key and the id, as section 4.2 says", async () => {
    const server = await answering(success({ status: "processing" }));
    const reply = await testService(server.baseUrl).poll("a/b c&d=ü%");
    expect(reply).toEqual({ outcome: "state", task: { status: "running", providerState: "processing" } });
    const target = "/api/generate-image?taskId=a%2Fb%20c%26d%3D%C3%BC%25";
    const headers = { authorization: `Bearer ${TEST_KEY}` };
    expect(server.requests).toMatchObject([{ method: "GET", target, headers }]);
  });

  it.each([
    [200, "login_required", "auth_required"],
    [401, "login_required", "auth_required"],
    [200, "image_generation.error.unknown_error", "service_error"],
    [404, "some.new.key", "service_error"],
  ])("with HTTP %i and %s is refused, though the task was charged", async (status, key, type) => {
    const reply = await pollOf(failure(key, status));
    expect(reply).toMatchObject({ outcome: "refused", error: { type, key, charged: "yes" } });
  });

  it("is read whole from however many pieces", async () => {
    const task = { status: "failed", errorCode: "the_prompt_was_refused" };
    const { baseUrl } = await liveServer(drips(success(task), 20, 2));
    expect(await testService(baseUrl, { http: testClient() }).poll("t")).toEqual({ outcome: "state", task });
  });

  it.each([401, 403])("with HTTP %i and nothing more is refused", async (status) => {
    const refused = { outcome: "refused", error: { charged: "yes" } };
    expect(await pollOf(response(status, HTML))).toMatchObject(refused);
  });

  it.each([
    ["HTTP 408", response(408, "")],
    ["HTTP 425", response(425, "")],
    ["HTTP 500", response(500, "")],
    ["HTTP 500 with a negative envelope", failure("image_generation.error.unknown_error", 500)],
    ["HTTP 503", response(503, HTML)],
    ["a redirect", response(302, "", { location: "/" })],
    ["a captive portal's page", response(200, HTML)],
    ["an empty reply", response(200, "")],
    ["a success without data", json({ code: 0, message: "ok" })],
    ["a success with a list for data", success([{ status: "failed" }])],
    ["JSON that is cut short", response(200, '{"code":0,"data":{"status":"comp')],
    ["more than 1 MiB", success({ status: "failed", padding: "x".repeat(1024 * 1024) })],
  ])("with %s says nothing, and is to be taken again", async (_what, bytes) => {
    expect(await pollOf(bytes)).toMatchObject({ outcome: "retry", rateLimited: false });
  });

  it.each([404, 410])(
    "with HTTP %i and a page has no word of the task, and is no end of it",
    async (status) => {
      expect(await pollOf(response(status, HTML))).toMatchObject({ outcome: "retry", isMissing: true });
    },
  );

  it("with 429 is to be taken again when the service says", async () => {
    const again = { outcome: "retry", rateLimited: true, retryAfterMs: 3000, connectionError: null };
    expect(await pollOf(response(429, "", { "retry-after": "3" }))).toMatchObject(again);
  });

  it("that met a network error says which", async () => {
    const service = testService(`http://127.0.0.1:${await deadPort()}/api`);
    expect(await service.poll("t")).toMatchObject({ outcome: "retry", connectionError: { wasSent: false } });
  });

  it("takes no longer than it was given", async () => {
    const service = testService((await liveServer(silence)).baseUrl);
    const late = { outcome: "retry", why: "no answer within 60 ms" };
    expect(await service.poll("t", { timeoutMs: 60 })).toMatchObject(late);
  });
});

describe("a key with which no header can be made", () => {
  it("never becomes part of an unknown outcome: nothing was sent", async () => {
    const server = await answering(success({ taskId: "t" }));
    const service = testService(server.baseUrl, { apiKey: "sk-a\r\nx: y" });
    const reply = await service.submit({ request: REQUEST }).catch((error: unknown) => error);
    expect(reply).not.toMatchObject({ outcome: "unknown" });
    expect(reply).not.toBeInstanceOf(OutcomeUnknownError);
    expect(server.requests).toEqual([]);
  });
});

it("a lost answer leaves no half-read one behind: the next request gets its own", async () => {
  const half = response(200, "{", { "content-length": "100" });
  const server = await liveServer(inTurn(half, success({ taskId: "t-2" })));
  const service = testService(server.baseUrl, { requestTimeoutMs: 200 });
  expect(await service.submit({ request: REQUEST })).toMatchObject({ outcome: "unknown" });
  expect(await service.submit({ request: REQUEST })).toEqual({ outcome: "accepted", taskId: "t-2" });
});
