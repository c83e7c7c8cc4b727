import { describe, expect, it } from "vitest";
import { BFL } from "../support/doubles/bfl.ts";
import { answers, type Reply } from "../support/doubles/double.ts";
import { FAL } from "../support/doubles/fal.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { png } from "../support/images.ts";
import { json, response } from "../support/scripted-server.ts";
import { cutShort, reset } from "../support/scripts.ts";
import { serviceWorld } from "./service-world.ts";

const NOTHING: Reply = () => json({});

/** How much of the reply to a submit is needed: its id, the addresses that follow from nothing. */
const NEEDED: Record<string, (whole: Buffer) => number> = {
  replicate: (whole) => whole.indexOf('"pred-1"') + '"pred-1"'.length,
  fal: (whole) => whole.indexOf('"req-1"') + '"req-1"'.length,
  bfl: (whole) => whole.indexOf(',"cost"'),
};

describe.each([REPLICATE, FAL, BFL])("$kind", (form) => {
  it.each([
    [401, "auth_required"],
    [402, "insufficient_credits"],
    [403, "auth_required"],
    [404, "invalid_request"],
    [422, "invalid_request"],
    [429, "rate_limited"],
    [500, "unknown"],
    [503, "unknown"],
  ])("answers a submit with %s: %s, in the service's words", async (status, expected) => {
    const { submit } = await serviceWorld(form, {
      submit: answers(() => form.error(status, "the words", { "retry-after": "7" })),
    });
    const { what, message, reply } = await submit();
    expect({ what, message }).toEqual({ what: expected, message: expect.stringContaining("the words") });
    if (reply.outcome === "rate_limited") expect(reply.retryAfterMs).toBe(7000);
  });

  it("refuses a prompt in the service's words", async () => {
    const { submit } = await serviceWorld(form, {
      submit: answers(() => form.error(400, "blocked by our content policy")),
    });
    expect(await submit()).toMatchObject({
      what: "generation_failed",
      message: expect.stringContaining("content policy"),
    });
  });

  it.each([
    ["nothing of a job", json({ hello: "world" })],
    ["an id that is none", json({ id: "../x", request_id: "../x" })],
    ["a page", response(200, "<html>Welcome</html>")],
  ])("may have taken a request whose reply says %s; what arrived is kept", async (_what, reply) => {
    const { submit } = await serviceWorld(form, { submit: answers(() => reply) });
    expect((await submit()).reply).toMatchObject({
      outcome: "unknown",
      kept: expect.stringMatching(/reply$/),
      excerpt: expect.any(String),
    });
  });

  it("may have taken a request whose reply was cut, and is not asked again after a crash either", async () => {
    const whole = form.replies.submit?.("http://127.0.0.1:1", 1) ?? Buffer.alloc(0);
    const { submit, provider, double } = await serviceWorld(form, {
      submit: cutShort(whole, whole.indexOf("-1") + 1),
    });
    const { job, reply } = await submit();
    expect(reply.outcome).toBe("unknown");
    const how = { signal: new AbortController().signal, onProgress: () => {} };
    expect(await provider.recover?.(job, how)).toBeNull();
    expect(double.submits()).toHaveLength(1);
  });

  it("has accepted a job whose reply was cut after all that is needed to poll it, after a crash too", async () => {
    const { submit, provider, poll, double } = await serviceWorld(form, {
      submit(request, socket) {
        const whole = form.replies.submit?.(`http://${request.headers.host}`, 1) ?? Buffer.alloc(0);
        socket.end(whole.subarray(0, NEEDED[form.kind]?.(whole)));
      },
    });
    const { job, reply } = await submit();
    if (reply.outcome !== "accepted") throw new Error(`it is ${reply.outcome}`);
    expect(await poll(reply.taskId)).toMatchObject({ outcome: "state" });
    expect(
      await provider.recover?.(job, { signal: new AbortController().signal, onProgress: () => {} }),
    ).toEqual(reply);
    expect(double.submits()).toHaveLength(1);
  });

  it.each([400, 402, 408, 422, 429, 500, 502, 503])(
    "ends no job because a poll is answered with %s",
    async (status) => {
      const { accepted, poll } = await serviceWorld(form, {
        poll: answers(() => form.error(status, "wait", { "retry-after": "3" })),
      });
      expect(await poll(await accepted())).toMatchObject({
        outcome: "retry",
        rateLimited: status === 429,
        why: expect.stringContaining("wait"),
      });
    },
  );

  it.each([401, 403])("refuses a poll with %s: the job stays, and resume goes on", async (status) => {
    const { accepted, poll } = await serviceWorld(form, {
      poll: answers(() => form.error(status, "no key")),
    });
    expect(await poll(await accepted())).toMatchObject({
      outcome: "refused",
      error: { type: "auth_required", charged: "yes" },
    });
  });

  it("says of a refused poll that no key is known, where none was sent", async () => {
    const keyless = await serviceWorld(
      form,
      { poll: answers(() => form.error(401, "no key")) },
      { key: null },
    );
    expect(await keyless.poll(await keyless.accepted())).toMatchObject({
      error: {
        message: expect.stringContaining("needs a key, and none is known for it"),
        hint: expect.stringContaining("IMGGEN_GENERATOR_KEY is sent beside --generator alone"),
      },
    });
  });

  it("ends no job because a poll breaks, or its reply is no JSON", async () => {
    const broken = await serviceWorld(form, { poll: reset });
    expect(await broken.poll(await broken.accepted())).toMatchObject({
      outcome: "retry",
      connectionError: expect.any(Error),
    });
    const page = await serviceWorld(form, { poll: answers(() => response(200, "<html>")) });
    expect(await page.poll(await page.accepted())).toMatchObject({ outcome: "retry" });
  });

  it("ends a job that is not known for three polls in a row", async () => {
    let isKnown = false;
    const { accepted, poll, state } = await serviceWorld(form, {
      poll: (request, socket) =>
        answers(isKnown ? (form.ends?.running.poll ?? NOTHING) : () => form.error(404, "no such job"))(
          request,
          socket,
        ),
    });
    const id = await accepted();
    for (let time = 0; time < 2; time++) expect(await poll(id)).toMatchObject({ outcome: "retry" });
    isKnown = true;
    expect(await state(id)).toMatchObject({ status: "running" });
    isKnown = false;
    for (let time = 0; time < 2; time++) expect(await poll(id)).toMatchObject({ outcome: "retry" });
    expect(await state(id)).toMatchObject({ status: "failed", why: expect.stringContaining("no such job") });
  });

  it("hides the key in what a poll says", async () => {
    const { accepted, poll } = await serviceWorld(form, {
      poll: answers(() => form.error(500, "bad secret-key-1 here")),
    });
    expect(JSON.stringify(await poll(await accepted()))).not.toContain("secret-key-1");
  });
});

const DATA = `data:image/png;base64,${png().toString("base64")}`;

it.each([
  [REPLICATE, "poll", { status: "succeeded", output: null }, []],
  [REPLICATE, "poll", { status: "succeeded", output: "I cannot" }, []],
  [REPLICATE, "poll", { status: "succeeded", output: [DATA] }, [DATA]],
  [FAL, "result", { images: [] }, []],
  [
    FAL,
    "result",
    { images: [{ url: DATA }, { url: "https://a.example/2.png" }] },
    [DATA, "https://a.example/2.png"],
  ],
  [BFL, "poll", { status: "Ready", result: {} }, []],
  [BFL, "poll", { status: "Ready", result: { sample: DATA } }, [DATA]],
] as const)(
  "$kind: a finished job whose images are not at URLs alone is to be kept",
  async (form, part, said, urls) => {
    const { accepted, state } = await serviceWorld(form, { [part]: answers(() => json(said)) });
    const unread = { urls, said: JSON.stringify(said) };
    expect(await state(await accepted())).toMatchObject({ status: "completed", urls: [], unread });
  },
);

it.each([
  [
    REPLICATE,
    "poll",
    { status: "succeeded", output: null, error: { code: "moderation_blocked", message: "No." } },
  ],
  [FAL, "result", { images: [], error: { code: "content_policy_violation", message: "No." } }],
  [BFL, "poll", { status: "Ready", result: {}, error: { code: "insufficient_credits", message: "No." } }],
] as const)("$kind: one whose code says why there is no image has failed", async (form, part, said) => {
  const { accepted, state } = await serviceWorld(form, { [part]: answers(() => json(said)) });
  expect(await state(await accepted())).toMatchObject({
    status: "failed",
    why: expect.stringContaining("No"),
  });
});
