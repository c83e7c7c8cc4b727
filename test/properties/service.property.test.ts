import fc from "fast-check";
import { expect, it } from "vitest";
import { HttpClient } from "../../src/api/http-client.ts";
import type { HttpRequest, ReplyHeaders, ReplyReceiver } from "../../src/api/transport.ts";
import type { PollReply, SubmitReply } from "../../src/providers/provider.ts";
import { HttpImageService } from "../../src/providers/service/http-service.ts";
import { CANARY } from "../support/canary.ts";
import { holdsInTime } from "../support/holds.ts";

interface Reply {
  status: number;
  headers: ReplyHeaders;
  body: Buffer;
}

/** Answers every request with the reply at hand, byte for byte. */
class CannedReplies extends HttpClient {
  reply: Reply = { status: 200, headers: {}, body: Buffer.alloc(0) };

  override async send(_request: HttpRequest, receiver: ReplyReceiver): Promise<void> {
    receiver.onHead(this.reply.status, this.reply.headers);
    receiver.onData(this.reply.body);
  }
}

const http = new CannedReplies();
const service = new HttpImageService({
  http,
  clock: { now: () => 0 },
  baseUrl: "https://service.example/api",
  apiKey: CANARY,
});

const envelope = fc.constantFrom(
  {
    code: 0,
    message: "ok",
    data: { taskId: "task-1", status: "completed", resultUrl: "https://x.example/1" },
  },
  { code: 0, message: "ok", data: { taskId: "../task", status: "failed", errorCode: 9 } },
  { code: 0, message: "ok", data: { status: "processing" } },
  { code: 0 },
  { code: -1, message: "login_required" },
  { code: -1, message: `no such key: ${CANARY}` },
  { code: -9, message: 7 },
  { code: 1, data: { taskId: "task-1" } },
  [],
);
const bytes = fc.oneof(
  { weight: 3, arbitrary: envelope.map((value) => Buffer.from(JSON.stringify(value))) },
  fc.tuple(envelope, fc.nat(80)).map(([value, end]) => Buffer.from(JSON.stringify(value)).subarray(0, end)),
  fc.uint8Array({ maxLength: 30 }).map((all) => Buffer.from(all)),
);
const status = fc.oneof(
  fc.constantFrom(200, 201, 302, 400, 401, 403, 404, 408, 413, 422, 425, 429, 500, 503),
  fc.integer({ min: 100, max: 999 }),
);
const retryAfter = fc.constantFrom(undefined, "3", "-1", "soon", ["2", "x"], "Thu, 01 Jan 1970 00:00:09 GMT");
const reply = fc
  .tuple(status, bytes, retryAfter)
  .map(([status, body, wait]): Reply => ({ status, body, headers: { "retry-after": wait } }));

/** What the body says, told without the service's reader: a parsed value, or null. */
function said({ body }: Reply): { code?: unknown; data?: { taskId?: unknown } } | null {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return null;
  }
}

/** A service that repeats the key in its error must not get it shown. */
function expectNoKeyIn(read: SubmitReply | PollReply): void {
  const message = read.outcome === "refused" ? read.error.message : "";
  expect(`${JSON.stringify(read)} ${message}`).not.toContain(CANARY);
}

it("any answer to a submit is a yes, a definite no or an unknown outcome, as its status and code make it", async () => {
  await holdsInTime(
    fc.asyncProperty(reply, async (given) => {
      http.reply = given;
      const read = await service.submit({ request: { prompt: "a fox", model: "m" } });
      expectNoKeyIn(read);
      const { outcome } = read;
      const { status } = given;
      const code = said(given)?.code;
      const definiteNo = [400, 401, 403, 404, 413, 422].includes(status);
      const lost = status < 200 || (status >= 300 && status < 400) || status === 408 || status >= 500;
      if (status === 429) expect(outcome).toBe("rate_limited");
      else if (definiteNo) expect(outcome).toBe("refused");
      else if (lost) expect(outcome).toBe("unknown");
      else if (typeof code === "number" && code < 0) expect(outcome).toBe("refused");
      else if (status < 300 && code === 0 && said(given)?.data?.taskId === "task-1")
        expect(outcome).toBe("accepted");
      else expect(outcome).toBe("unknown");
    }),
  );
});

it("any answer to a poll is a state, a refusal or a reason to poll again, and a state comes with HTTP 2xx alone", async () => {
  await holdsInTime(
    fc.asyncProperty(reply, async (given) => {
      http.reply = given;
      const read = await service.poll("task-1");
      expectNoKeyIn(read);
      const passing = [408, 425, 429].includes(given.status) || given.status >= 500;
      if (passing) expect(read.outcome).toBe("retry");
      if (read.outcome === "state") {
        expect(Math.floor(given.status / 100)).toBe(2);
        expect(said(given)?.code).toBe(0);
      }
      if (read.outcome === "refused") {
        expect(Number(said(given)?.code) < 0 || [401, 403].includes(given.status)).toBe(true);
        expect(read.error.charged).toBe("yes");
      }
    }),
  );
});
