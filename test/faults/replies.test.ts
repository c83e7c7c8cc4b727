import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { PENDING, refused, SAVED, serviceWorld, UNKNOWN } from "../support/program-world.ts";
import { failure, json, response, success } from "../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning, taskIs } from "../support/scripts.ts";

const ACCEPTED = success({ taskId: "task-1" });
const CONTROL_SEQUENCE = "\u001b[31m";

/** A reply's body word for word, for what no JSON library would write. */
const rawJson = (text: string) => response(200, text, { "content-type": "application/json" });

it.each([
  ["that is not JSON", response(200, "hello")],
  ["that is empty", response(200, "")],
  ["that is an array", json([])],
  ["with code 0 and no taskId", success({})],
  ["whose taskId is a number", success({ taskId: 17 })],
  ["whose taskId has ../ in it", success({ taskId: "../../etc/passwd" })],
  ["whose taskId has a control sequence in it", success({ taskId: `task${CONTROL_SEQUENCE}-1` })],
  ["whose taskId has 257 characters", success({ taskId: "t".repeat(257) })],
  ["of more than 1 MiB", success({ taskId: "task-1", padding: "x".repeat(1024 * 1024) })],
  ["of HTTP 500 with an envelope", failure("image_generation.error.unknown_error", 500)],
])("a reply to the submit %s: outcome unknown, never sent again", async (_name, reply) => {
  const { server, world } = await serviceWorld({ submit: replies(reply) });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(UNKNOWN);
  expect(server.requests).toHaveLength(1);
  expect(run.stdout + run.stderr).not.toContain(CONTROL_SEQUENCE);
});

/** An accepted submit's reply, as it would be without anything wrong. */
const ENVELOPE = JSON.stringify({ code: 0, message: "ok", data: { taskId: "task-1" } });
const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
const CHUNKED = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

it.each([
  ["100 Continue", "HTTP/1.1 100 Continue\r\n\r\n"],
  ["103 Early Hints", "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n"],
])("%s before every reply, unsolicited, is ignored", async (_what, interim) => {
  const { world } = await serviceWorld({
    submit: replies(`${interim}${ACCEPTED}`),
    poll: (request, socket) => {
      socket.write(interim);
      return completedAt("/1.png")(request, socket);
    },
    file: (_request, socket) => {
      socket.write(interim);
      socket.write(response(200, PICTURE));
    },
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it.each([
  ["with a Content-Length beyond it", response(200, ENVELOPE, { "content-length": "500" })],
  ["in chunks without the last", `${CHUNKED}${chunk(ENVELOPE)}`],
])("a reply to the submit that is cut after its envelope, %s, is accepted", async (_how, bytes) => {
  const { world } = await serviceWorld({ submit: (_request, socket) => void socket.end(bytes) });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("a reply to the submit that never ends is accepted after the time that it may take", async () => {
  const endless = replies(`${CHUNKED}${chunk(ENVELOPE)}`);
  const { world } = await serviceWorld({ submit: endless });
  expect(await world.afterGenerate(["--request-timeout", "400ms"])).toEqual(SAVED);
});

it("a reply to the submit that is compressed (gzip) without being asked for is read", async () => {
  const compressed = response(200, gzipSync(ENVELOPE), { "content-encoding": "gzip" });
  const { server, world } = await serviceWorld({ submit: replies(compressed) });
  expect(await world.afterGenerate()).toEqual(SAVED);
  const api = server.requests.filter(({ target }) => target.startsWith("/api"));
  expect(api.map(({ headers }) => headers["accept-encoding"])).toEqual(["identity", "identity"]);
});

it.each([
  ["cut in the middle", response(200, ENVELOPE.slice(0, -2), { "content-length": "500" }), "task-1"],
  ["with a taskId that is a number", success({ taskId: 17 }), "17"],
  [
    "with two Content-Length headers",
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-length: 9\r\ncontent-length: 9\r\n\r\n${ENVELOPE}`),
    "task-1",
  ],
  ["that is no HTTP", Buffer.from(ENVELOPE), "task-1"],
])(
  "a reply %s: its text goes into the record, and its task id is shown as a hint",
  async (_what, bytes, id) => {
    const { world } = await serviceWorld({ submit: (_request, socket) => void socket.end(bytes) });
    const run = await world.generate();
    expect(await world.aftermath(run)).toEqual(UNKNOWN);
    expect(JSON.parse(run.stdout).error.hint).toContain(`imggen resume ${id}`);
    const [[, unknown] = []] = await world.records("open");
    expect(bytes.toString()).toContain(unknown?.excerpt);
    expect(unknown?.excerpt).toContain('"taskId"');
    const later = await world.resume();
    expect(later.code).toBe(9);
    expect(later.stdout).toContain(`imggen resume ${id}`);
  },
);

it("a taskId that means something in a URL or a shell goes back as it came, quoted for the shell", async () => {
  const taskId = "a b/c?d&e=f#g'h$(touch x)";
  const { server, world } = await serviceWorld({ submit: replies(success({ taskId })), poll: stillRunning });
  const run = await world.generate(["--timeout", "300ms"]);
  expect(await world.aftermath(run)).toEqual(PENDING);
  expect(JSON.parse(run.stdout).resume).toBe(`imggen resume 'a b/c?d&e=f#g'\\''h$(touch x)'`);
  expect(new URL(server.requests[1]?.target ?? "", server.origin).searchParams.get("taskId")).toBe(taskId);
});

it.each([
  ["an unknown negative code", json({ code: -7, message: "image_generation.error.brand_new" })],
  ["an unknown key", failure("image_generation.error.brand_new")],
])("%s is a refusal by the service, with the key shown", async (_name, reply) => {
  const { world } = await serviceWorld({ submit: replies(reply) });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(refused(5, "service_error"));
  const { key } = JSON.parse(run.stdout).error;
  expect(reply.toString()).toContain(JSON.stringify(key));
});

it.each([
  ["login_required", 200, 3, "auth_required"],
  ["my_credits.no_credits_description", 200, 4, "insufficient_credits"],
  ["SUBSCRIPTION_REQUIRED", 403, 4, "subscription_required"],
])("%s with HTTP %i is a definite no: exit %i, %s, nothing charged", async (key, status, exit, type) => {
  const { world } = await serviceWorld({ submit: replies(failure(key, status)) });
  const run = await world.generate();
  expect(await world.aftermath(run)).toEqual(refused(exit, type));
  expect(JSON.parse(run.stdout)).toMatchObject({
    ok: false,
    error: { key, exitCode: exit },
    taskId: null,
    resume: null,
  });
});

it("a reply to a poll that is not JSON says nothing: it is polled again, and the image saved", async () => {
  const nonsense = replies(response(200, "hello"));
  const { world } = await serviceWorld({ poll: inTurn(nonsense, nonsense, completedAt("/1.png")) });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("a redirect (307) of the submit is never followed", async () => {
  const elsewhere = await liveServer(ACCEPTED);
  const location = `${elsewhere.origin}/api/generate-image`;
  const { world } = await serviceWorld({ submit: replies(response(307, "", { location })) });
  expect(await world.afterGenerate()).toEqual(UNKNOWN);
  expect(elsewhere.requests).toEqual([]);
});

it("a redirect of a poll is never followed: the key stays with the service, and the wait continues", async () => {
  const elsewhere = await liveServer(ACCEPTED);
  const away = response(307, "", { location: `${elsewhere.origin}/api/generate-image?taskId=task-1` });
  const { world } = await serviceWorld({ poll: inTurn(replies(away), completedAt("/1.png")) });
  expect(await world.afterGenerate()).toEqual(SAVED);
  expect(elsewhere.requests).toEqual([]);
});

it.each([
  ["the text 0", { errorCode: "0" }],
  ["null", { errorCode: null }],
  ["missing", {}],
])("an errorCode that is %s is no error", async (_name, code) => {
  const { world } = await serviceWorld({
    poll: inTurn(
      taskIs({ status: "processing", ...code }),
      taskIs((origin) => ({ status: "completed", resultUrl: `${origin}/1.png`, ...code })),
    ),
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("__proto__ beside what is asked for changes nothing", async () => {
  const { world } = await serviceWorld({
    submit: replies(
      rawJson(
        '{"code":0,"message":"ok","data":{"taskId":"task-1","__proto__":{"status":"failed","errorCode":5}}}',
      ),
    ),
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
});

it("of duplicate keys the last counts, for the whole run", async () => {
  const { server, world } = await serviceWorld({
    submit: replies(
      rawJson('{"code":-1,"code":0,"message":"ok","data":{"taskId":"task-9","taskId":"task-1"}}'),
    ),
  });
  expect(await world.afterGenerate()).toEqual(SAVED);
  const polls = server.requests.filter(({ method, target }) => method === "GET" && target.startsWith("/api"));
  expect(new Set(polls.map(({ target }) => target))).toEqual(new Set(["/api/generate-image?taskId=task-1"]));
});
