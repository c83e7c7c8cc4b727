import { once } from "node:events";
import { readdirSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { GeneratorOptions } from "../../src/providers/kind.ts";
import type { Job, Provider } from "../../src/providers/provider.ts";
import { storeResult } from "../../src/providers/stored-reply.ts";
import { counted } from "../support/counted.ts";
import { BFL } from "../support/doubles/bfl.ts";
import type { ServiceForm } from "../support/doubles/double.ts";
import { FAL } from "../support/doubles/fal.ts";
import { REPLICATE } from "../support/doubles/replicate.ts";
import { heavyPicture, png } from "../support/images.ts";
import { type Answer, type Behaviour, json, response } from "../support/scripted-server.ts";
import { cutShort, reset } from "../support/scripts.ts";
import { ALONE, polling } from "./job.ts";
import { serviceWorld } from "./service-world.ts";

/** How much of the reply to a submit is needed: its id, the addresses that follow from nothing. */
const NEEDED: Record<string, (whole: Buffer) => number> = {
  replicate: (whole) => whole.indexOf('"pred-1"') + '"pred-1"'.length,
  fal: (whole) => whole.indexOf('"req-1"') + '"req-1"'.length,
  bfl: (whole) => whole.indexOf(',"cost"'),
};

/** What a poll says of a job whose service answers so. */
async function polled(form: ServiceForm, poll: Answer, options: Partial<GeneratorOptions> = {}) {
  const world = await serviceWorld(form, { poll }, options);
  return world.poll(await world.accepted());
}

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
      submit: form.error(status, "the words", status === 429 ? { "retry-after": "7" } : {}),
    });
    const { what, message, reply } = await submit();
    expect({ what, message }).toEqual({ what: expected, message: expect.stringContaining("the words") });
    if (reply.outcome === "rate_limited") expect(reply.retryAfterMs).toBe(7000);
  });

  it("refuses a prompt in the service's words", async () => {
    const { submit } = await serviceWorld(form, { submit: form.error(400, "blocked by our content policy") });
    const message = expect.stringContaining("content policy");
    expect(await submit()).toMatchObject({ what: "generation_failed", message });
  });

  it.each([
    ["nothing of a job", json({ hello: "world" })],
    ["an id that is none", json({ id: "../x", request_id: "../x" })],
    ["a page", response(200, "<html>Welcome</html>")],
  ])("may have taken a request whose reply says %s; what arrived is kept", async (_what, reply) => {
    const { submit } = await serviceWorld(form, { submit: reply });
    expect((await submit()).reply).toMatchObject({
      outcome: "unknown",
      savedPath: expect.stringMatching(/reply$/),
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
    expect(await provider.recover?.(job, ALONE)).toBeNull();
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
    expect(await provider.recover?.(job, ALONE)).toEqual(reply);
    expect(double.submits()).toHaveLength(1);
  });

  it.each([400, 402, 408, 422, 429, 500, 502, 503])(
    "ends no job because a poll is answered with %s, in the service's words, and hides the key in them",
    async (status) => {
      const reply = await polled(form, form.error(status, "wait, secret-key-1", { "retry-after": "3" }));
      const why = expect.stringContaining("wait");
      expect(reply).toMatchObject({ outcome: "retry", rateLimited: status === 429, why });
      expect(JSON.stringify(reply)).not.toContain("secret-key-1");
    },
  );

  it.each([401, 403])("refuses a poll with %s: the job stays, and resume goes on", async (status) => {
    const error = { type: "auth_required", charged: "yes" };
    expect(await polled(form, form.error(status, "no key"))).toMatchObject({ outcome: "refused", error });
  });

  it("says of a refused poll that no key is known, where none was sent", async () => {
    expect(await polled(form, form.error(401, "no key"), { key: null })).toMatchObject({
      error: {
        message: expect.stringContaining("needs a key, but no key is set"),
        hint: expect.stringContaining("To store a key: imggen login --generator http://127.0.0.1:"),
      },
    });
  });

  it("ends no job because a poll breaks", async () => {
    const broken = { outcome: "retry", connectionError: expect.any(Error) };
    expect(await polled(form, reset)).toMatchObject(broken);
  });

  it.each([404, 410])(
    "ends no job because polls are answered with %s: it may be known later",
    async (status) => {
      const { accepted, poll } = await serviceWorld(form, { poll: form.error(status, "no such job") });
      const id = await accepted();
      for (let time = 0; time < 4; time++)
        expect(await poll(id)).toMatchObject({ outcome: "retry", isMissing: true });
    },
  );

  it.each([
    ["a page", response(200, "<html>Welcome</html>")],
    ["the beginning of a page", response(200, "<html>")],
    ["nothing", response(200, "")],
    ["an empty object", json({})],
    ["a state that is not known", json({ status: "UPSCALING" })],
    ["a failure with 500", json({ status: "failed", detail: "No." }, 500)],
    ["a failure with 503", json({ status: "Error", detail: [{ msg: "No." }] }, 503)],
  ])("ends no job because a poll is answered with %s", async (_what, reply) => {
    expect(await polled(form, reply)).toMatchObject({ outcome: "retry", isMissing: true });
  });

  it("ends no job because the reply to a poll is cut", async () => {
    const whole = json({ status: "failed", error: "out of memory", detail: "out of memory" });
    const reply = await polled(form, cutShort(whole, whole.length - 5));
    expect(reply).not.toHaveProperty("isMissing");
    expect(reply).toMatchObject({
      outcome: "retry",
      why: expect.stringMatching(/^its reply was cut/),
      connectionError: expect.any(Error),
    });
  });

  it.each(["FAILED", "failed", "Canceled", "CANCELLED", "Error", "expired"])(
    "ends a job whose state is %s, in the service's words",
    async (status) => {
      const said = { status, error: "out of memory", details: "out of memory" };
      const why = expect.stringContaining("out of memory");
      const task = { status: "failed", errorCode: null, why };
      expect(await polled(form, json(said))).toEqual({ outcome: "state", task });
    },
  );

  it("takes the service's word that a failed job is not charged", async () => {
    const words = "Internal error. You will not be charged.";
    const said = { status: "failed", error: words, details: words };
    expect(await polled(form, json(said))).toMatchObject({ task: { status: "failed", charged: "no" } });
  });
});

const HERE = { kind: "bytes", bytes: png() };

/** Polls a job that has finished. @returns the file of the reply */
async function replyOf(provider: Provider, id: string, job: Job): Promise<string> {
  const polled = await provider.poll?.(id, await polling({ job, keepsReply: true }));
  if (polled?.outcome !== "state" || polled.task.status !== "completed") throw new Error("it has not ended");
  expect(polled.task.urls).toEqual([]);
  return polled.task.reply ?? "";
}

const DATA = `data:image/png;base64,${png().toString("base64")}`;

it.each([
  [REPLICATE, "poll", { status: "succeeded", output: null }, []],
  [REPLICATE, "poll", { status: "succeeded", output: "I cannot" }, []],
  [REPLICATE, "poll", { status: "succeeded", output: [DATA] }, [HERE]],
  [FAL, "result", { images: [] }, []],
  [
    FAL,
    "result",
    { images: [{ url: DATA }, { url: "https://a.example/2.png" }] },
    [HERE, { kind: "url", url: "https://a.example/2.png" }],
  ],
  [BFL, "poll", { status: "Ready", result: {} }, []],
  [BFL, "poll", { status: "Ready", result: { sample: DATA } }, [HERE]],
] as const)(
  "$kind: the reply about a finished job whose images are not at URLs alone is kept for them",
  async (form, part, said, images) => {
    const { submit, provider } = await serviceWorld(form, { [part]: json(said) });
    const { job, reply } = await submit();
    const id = reply.outcome === "accepted" ? reply.taskId : "";
    const looked = await provider.poll?.(id, await polling({ job }));
    expect(looked).toMatchObject({ outcome: "state", task: { status: "completed", urls: [] } });
    expect(JSON.stringify(looked)).not.toContain("reply");
    expect(await readdir(job.folder)).toEqual(["reply"]);
    const file = await replyOf(provider, id, job);
    await storeResult(job, file);
    expect(await readdir(job.folder)).toEqual(["reply", "result"]);
    const made = provider.images?.(job);
    if (images.length > 0) expect(await made).toEqual(images);
    else await expect(made).rejects.toMatchObject({ failure: { kind: "lost" } });
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
  const { accepted, state } = await serviceWorld(form, { [part]: json(said) });
  expect(await state(await accepted())).toMatchObject({
    status: "failed",
    why: expect.stringContaining("No"),
  });
});

const LARGE = `data:image/png;base64,${"A".repeat(3 * 1024 * 1024)}`;

it("a poll's reply may be as large as the reply to a submit: it may repeat all that was sent", async () => {
  const said = { status: "succeeded", input: { image: LARGE }, output: ["https://a.example/1.png"] };
  const { submit, poll } = await serviceWorld(REPLICATE, { poll: json(said) });
  const { job, reply } = await submit();
  const id = reply.outcome === "accepted" ? reply.taskId : "";
  const polls = await Promise.all([poll(id), poll(id), poll(id)]);
  for (const each of polls)
    expect(each).toMatchObject({
      outcome: "state",
      task: { status: "completed", urls: ["https://a.example/1.png"] },
    });
  expect(await readdir(job.folder)).toEqual(["reply"]);
});

it("large results are streamed to the folders of their jobs, two at once", async () => {
  const open = counted();
  const [first, rest] = [new AbortController(), new AbortController()];
  let [running, most] = [0, 0];
  const asked = new Set<string>();
  const image = heavyPicture(1200);
  const whole = json({ images: [{ url: `data:image/png;base64,${image.toString("base64")}` }] });
  const result: Behaviour = async ({ target }, socket) => {
    // Each is asked for once more when it is known to be large.
    if (!asked.has(target)) {
      asked.add(target);
      return void socket.write(whole);
    }
    running += 1;
    most = Math.max(most, running);
    socket.write(whole.subarray(0, -100));
    const { signal } = open.add() <= 2 ? first : rest;
    if (!signal.aborted) await once(signal, "abort");
    running -= 1;
    socket.write(whole.subarray(-100));
  };
  const { submit, provider } = await serviceWorld(FAL, { result });
  const jobs = await Promise.all(
    [0, 1, 2].map(async () => {
      const { job, reply } = await submit();
      return { job, id: reply.outcome === "accepted" ? reply.taskId : "" };
    }),
  );
  const files = jobs.map(({ job, id }) => replyOf(provider, id, job));
  await open.reached(2);
  const streaming = jobs.map(({ job }) => readdirSync(job.folder).some((name) => name.startsWith(".poll-")));
  expect(streaming.filter(Boolean)).toHaveLength(2);
  first.abort();
  await open.reached(3);
  rest.abort();
  for (const [at, file] of files.entries()) {
    const { job } = jobs[at] ?? {};
    if (job === undefined) throw new Error("there is no such job");
    await storeResult(job, await file);
    const [made] = (await provider.images?.(job)) ?? [];
    expect(made?.kind === "bytes" && made.bytes.equals(image)).toBe(true);
  }
  expect(most).toBe(2);
});

it("a large result that is cut is asked for again, and leaves nothing", async () => {
  const whole = json({ images: [{ url: LARGE }] });
  const { submit, poll } = await serviceWorld(FAL, { result: cutShort(whole, whole.length - 100) });
  const { job, reply } = await submit();
  expect(await poll(reply.outcome === "accepted" ? reply.taskId : "")).toMatchObject({ outcome: "retry" });
  expect(await readdir(job.folder)).toEqual(["reply"]);
});

describe.each([REPLICATE, FAL])("$kind", (form) => {
  it.each([401, 403])("says of a cancellation refused with %s that no key is known", async (status) => {
    const refusing = { cancel: form.error(status, "no key") };
    const { cancel, accepted } = await serviceWorld(form, refusing, { key: null });
    await expect(cancel(await accepted())).rejects.toMatchObject({
      type: "auth_required",
      message: expect.stringContaining("needs a key, but no key is set"),
    });
  });
});
