import { describe, expect, it } from "vitest";
import { fetchReply } from "../../src/api/http-client.ts";
import { liveServer } from "../support/live-server.ts";
import { type Behaviour, success } from "../support/scripted-server.ts";
import { replies } from "../support/scripts.ts";
import { testClient, testService } from "../support/task-world.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";
import { pause } from "../support/wait.ts";

const REQUEST = { prompt: "a fox", model: "gamma-image-2" };
const CONTINUE = "HTTP/1.1 100 Continue\r\n\r\n";
const HINTS = "HTTP/1.1 103 Early Hints\r\nlink: </a>; rel=preload\r\n\r\n";
const ACCEPTED = success({ taskId: "t" });

/** Sends each piece in a packet of its own. */
const inPieces = (...pieces: readonly (string | Buffer)[]): Behaviour => {
  return async (_request, socket) => {
    for (const piece of pieces) {
      socket.write(piece);
      await pause(2);
    }
  };
};

const submitTo = async (behave: Behaviour) =>
  testService((await liveServer(behave)).baseUrl, { requestTimeoutMs: 20_000 }).submit({ request: REQUEST });

describe("a submit is accepted after an unsolicited interim response", () => {
  it.each([
    ["100 Continue", replies(`${CONTINUE}${ACCEPTED}`)],
    ["100 Continue, on its own", inPieces(CONTINUE, ACCEPTED)],
    ["100 Continue with headers", replies(`HTTP/1.1 100 Continue\r\nserver: x\r\n\r\n${ACCEPTED}`)],
    ["100 without a reason", replies(`HTTP/1.1 100\r\n\r\n${ACCEPTED}`)],
    ["100 Continue of HTTP/1.0", replies(`HTTP/1.0 100 Continue\r\n\r\n${ACCEPTED}`)],
    ["several", inPieces(CONTINUE, `${HINTS}${CONTINUE}`, HINTS, ACCEPTED)],
    ["in single bytes", inPieces(...`${CONTINUE}${HINTS}HTTP/1`, ACCEPTED.subarray(6))],
    ["cut anywhere", inPieces(CONTINUE.slice(0, 24), `${CONTINUE.slice(24)}H`, ACCEPTED.subarray(1))],
  ])("(%s)", async (_what, behave) => {
    expect(await submitTo(behave)).toEqual({ outcome: "accepted", taskId: "t" });
  });

  it("and the submit's reply comes in pieces, larger than a packet", async () => {
    const padded = success({ taskId: "t", padding: "x".repeat(300_000) });
    const half = padded.length / 2;
    const behave = inPieces(CONTINUE, padded.subarray(0, half), padded.subarray(half));
    expect(await submitTo(behave)).toEqual({ outcome: "accepted", taskId: "t" });
  });

  it("through a proxy's tunnel", async () => {
    const server = await liveServer(replies(`${CONTINUE}${ACCEPTED}`));
    const proxy = await tunnelProxy("tunnel");
    const http = testClient({ proxies: { http: proxy.url, https: "", except: "" } });
    const url = new URL(`http://service.example:${server.port}/api`);
    const reply = await fetchReply(http, { method: "POST", url, body: "{}" });
    expect(reply).toMatchObject({ status: 200, cut: null });
    expect(proxy.heads).toHaveLength(1);
  });
});

describe("a submit may have been accepted", () => {
  it.each([
    ["an interim response alone", inPieces(CONTINUE)],
    ["a part of one", inPieces("HTTP/1.1 100 Conti")],
    ["less than a status", inPieces("HTTP/1.")],
    ["an unsolicited protocol change", replies("HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n")],
    ["an interim head without an end", replies(`HTTP/1.1 100 Continue\r\nx: ${"x".repeat(20_000)}`)],
    ["what is no HTTP after an interim response", replies(`${CONTINUE}220 smtp.example ESMTP\r\n`)],
    ["a refusal of another protocol", replies("HTTQ/1.1 200 OK\r\n\r\n")],
  ])("after %s and the end of the connection", async (_what, behave) => {
    const reply = await submitTo(async (request, socket) => {
      await behave(request, socket);
      await pause(10);
      socket.destroy();
    });
    expect(reply).toMatchObject({ outcome: "unknown" });
  });
});

it("a poll that meets 100 Continue succeeds when it is sent again, over a connection of its own", async () => {
  const server = await liveServer(replies(`${CONTINUE}${success({ status: "processing" })}`));
  const service = testService(server.baseUrl);
  const outcomes: string[] = [];
  for (let round = 0; round < 4; round++) outcomes.push((await service.poll("t")).outcome);
  expect(outcomes).toEqual(["retry", "state", "retry", "state"]);
});
