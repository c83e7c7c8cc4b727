import { expect, it, onTestFinished } from "vitest";
import { parseEnvelope, parsePolledState } from "../../src/providers/service/replies.ts";
import { SANDBOX_KEY, startSandbox } from "../../src/sandbox/server.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { answer, clientOf, liveSandbox } from "./live.ts";

const UNKNOWN = { status: 200, body: { code: -1, message: "image_generation.error.unknown_error" } };
const ok = (data: object) => ({ code: 0, message: "ok", data });

it("a task is processing until its time is over, then completed with the image's address", async () => {
  const clock = { time: 1_700_000_000_000, now: () => clock.time };
  const { baseUrl, accepted, poll } = await liveSandbox({ latencyMs: 5000, clock });
  const taskId = await accepted({ prompt: "a fox" });
  clock.time += 4999;
  expect((await poll(taskId)).body).toEqual(ok({ taskId, status: "processing", errorCode: 0 }));
  clock.time += 1;
  const { body } = await poll(taskId);
  const resultUrl = expect.any(String);
  expect(body).toEqual(ok({ taskId, status: "completed", resultUrl, errorCode: 0 }));
  const url = new URL(String(body.data?.resultUrl));
  expect(url.origin).toBe(new URL(baseUrl).origin);
  expect(url.pathname).toBe(`/files/${taskId}/0.png`);
});

it("a task takes 600 ms where nothing else is said", async () => {
  const clock = { time: 1_700_000_000_000, now: () => clock.time };
  const sandbox = await startSandbox({ folder: await temporaryFolder(), clock });
  onTestFinished(() => sandbox.close());
  const { accepted, poll } = clientOf(sandbox.baseUrl, SANDBOX_KEY);
  const taskId = await accepted({ prompt: "a fox" });
  clock.time += 599;
  expect((await poll(taskId)).body.data?.status).toBe("processing");
  clock.time += 1;
  expect((await poll(taskId)).body.data?.status).toBe("completed");
});

it.each([
  [{ model: "vendor2/beta-v4" }, 4],
  [{ model: "vendor2/beta-v4", maxImages: 2 }, 2],
  [{ model: "vendor2/beta-v4", maxImages: 15 }, 15],
  [{}, 1],
  [{ model: "vendor2/beta-v4", maxImages: 1 }, 1],
  [{ model: "z-image", maxImages: 15 }, 1],
  [{ model: "gamma-image-2-5-flare-text", maxImages: 3 }, 1],
])("%j makes %i images: a list of addresses, or one as a string", async (request, count) => {
  const { accepted, poll } = await liveSandbox();
  const { data } = (await poll(await accepted({ prompt: "a fox", ...request }))).body;
  const urls = data?.resultUrl ?? [];
  expect([typeof urls, new Set([urls].flat()).size]).toEqual([count === 1 ? "string" : "object", count]);
});

it("a task belongs to the account that was charged, and is unknown to any other", async () => {
  const { as, accepted, poll } = await liveSandbox();
  const taskId = await accepted({ prompt: "a fox" });
  expect(await as("sk-other").poll(taskId)).toMatchObject(UNKNOWN);
  expect((await poll(taskId)).body.code).toBe(0);
});

it.each(["task_00000000000000000000", "nonsense", "../secret", "../tasks/x", "\0", "a".repeat(5000)])(
  "the task %j is unknown",
  async (taskId) => {
    const { poll } = await liveSandbox();
    expect(await poll(taskId)).toMatchObject(UNKNOWN);
  },
);

it("a poll without a taskId is no request", async () => {
  const { baseUrl } = await liveSandbox();
  const reply = { status: 400, body: { code: -1, message: "image_generation.error.invalid_request" } };
  for (const query of ["", "?taskId=", "?taskid=task_1"]) {
    const headers = { authorization: "Bearer sk-sandbox" };
    expect(await answer(`${baseUrl}/generate-image${query}`, { headers })).toMatchObject(reply);
  }
});

it("what the program reads of the replies is what they say", async () => {
  const { accepted, poll } = await liveSandbox();
  const finalState = async (prompt: string) => {
    const envelope = parseEnvelope(JSON.stringify((await poll(await accepted({ prompt }))).body));
    return parsePolledState(envelope.kind === "success" ? envelope.data : null);
  };
  expect(await finalState("a fox")).toMatchObject({ status: "completed", urls: [expect.any(String)] });
  const running = { status: "running", providerState: "processing" };
  expect(await finalState("a fox [sandbox:slow=1m]")).toEqual(running);
  expect(await finalState("a fox [sandbox:fail]")).toEqual({ status: "failed", errorCode: "1001" });
});
