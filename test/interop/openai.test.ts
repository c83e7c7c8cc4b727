import { EventEmitter, once } from "node:events";
import OpenAI from "openai";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { drawn, endless, failing, scriptedProvider } from "../serve/provider-script.ts";
import { png } from "../support/images.ts";
import { quickClock } from "../support/quick-clock.ts";
import { failure, heldProvider, withOpenAi } from "./openai-client.ts";

/** Asks for images without OpenAI's client. */
function ask({ origin, apiKey }: { origin: string; apiKey: string }, body: string) {
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  return request(`${origin}/v1/images/generations`, { method: "POST", headers, body });
}

describe("OpenAI's client", () => {
  it("gets the images of a request, as many as it asks for, with the usage", async () => {
    const usage = { total_tokens: 3, output_tokens_details: { image_tokens: 2 } };
    const provider = scriptedProvider((job) => drawn(job, usage));
    const { openai } = await withOpenAi({ provider });
    const result = await openai.images.generate({ prompt: "a fox", model: "sdxl", n: 2, size: "1536x1024" });
    const images = (result.data ?? []).map(({ b64_json }) => Buffer.from(b64_json ?? "", "base64"));
    expect(images.map((image, index) => image.equals(png(index)))).toEqual([true, true]);
    expect(result.usage).toEqual({ total_tokens: 6, output_tokens_details: { image_tokens: 4 } });
    expect(provider.jobs).toHaveLength(2);
    expect(provider.jobs[0]).toMatchObject({
      request: { prompt: "a fox", model: "sdxl", ratio: "3:2", maxImages: 2 },
      options: { width: 1536, height: 1024, fields: {} },
    });
  });

  it("gets signed URLs where it asks for them", async () => {
    const { openai } = await withOpenAi();
    const { data = [] } = await openai.images.generate({ prompt: "a fox", response_format: "url" });
    const { body } = await request(data[0]?.url ?? "");
    expect(Buffer.from(await body.arrayBuffer()).equals(png())).toBe(true);
  });

  it("gets events where it streams, the image in the last one", async () => {
    const { openai } = await withOpenAi();
    const events = [];
    for await (const event of await openai.images.generate({ prompt: "a fox", stream: true }))
      events.push(event);
    expect(events).toMatchObject([
      { type: "image_generation.completed", b64_json: png().toString("base64"), size: "8x6" },
    ]);
  });

  it("edits images that it sends as files, which are kept as private copies", async () => {
    const provider = scriptedProvider();
    const { openai, folder } = await withOpenAi({ provider });
    const files = [1, 2].map((seed) => new File([new Uint8Array(png(seed))], `${seed}.png`));
    const { data } = await openai.images.edit({ prompt: "a hat", image: files, model: "sdxl" });
    expect(data).toHaveLength(1);
    const file = expect.stringContaining(folder);
    expect(provider.jobs[0]?.references).toEqual([
      { file, mediaType: "image/png" },
      { file, mediaType: "image/png" },
    ]);
  });

  it("may leave all but the prompt to the generator, name images by URL, and send OpenAI's own settings to no other", async () => {
    const provider = scriptedProvider();
    const { openai } = await withOpenAi({ provider });
    const url = "https://example.com/a.png";
    const own = { n: null, size: "auto", quality: "high", style: "vivid", background: null } as const;
    await openai.post("/images/edits", { body: { prompt: "a fox", images: [{ image_url: url }], ...own } });
    expect(provider.jobs).toMatchObject([
      { request: { prompt: "a fox", ratio: "auto" }, options: { fields: {} }, references: [{ url }] },
    ]);
    expect(provider.jobs[0]?.request).not.toHaveProperty("quality");
  });
});

describe("an error in OpenAI's form", () => {
  it("says what is wrong with a request", async () => {
    const { openai, origin } = await withOpenAi({ models: async () => ["sdxl", "flux"] });
    const stranger = new OpenAI({ baseURL: `${origin}/v1`, apiKey: "sk-other" });
    const unknown = { status: 404, code: "model_not_found" };
    expect(await failure(stranger.models.list())).toMatchObject({ status: 401, code: "invalid_api_key" });
    expect(await failure(openai.models.retrieve("nope"))).toMatchObject(unknown);
    const nope = openai.images.generate({ prompt: "a fox", model: "nope" });
    expect(await failure(nope)).toMatchObject({ ...unknown, param: "model" });
    const text = openai.images.edit({
      prompt: "a fox",
      model: "sdxl",
      image: new File(["no image"], "a.png"),
    });
    const invalid = { status: 400, type: "invalid_request_error", param: "image" };
    expect(await failure(text)).toMatchObject(invalid);
    expect(await failure(openai.post("/images/none"))).toMatchObject({ status: 404 });
  });

  it.each([
    [{ prompt: undefined }, "prompt is missing.", "prompt"],
    [{ prompt: null }, "prompt is missing.", "prompt"],
    [{ prompt: " " }, "prompt is missing.", "prompt"],
    [{ prompt: 7 }, "prompt is not a string.", "prompt"],
    [{ mask: "https://a.b/mask.png" }, "mask is not supported.", "mask"],
    [{ model: 7 }, "model is not a string.", "model"],
    [{ size: 7 }, "size is not a string.", "size"],
    [{ size: "0x64" }, "size must be auto, or have the form 1024x1024.", "size"],
    [{ size: "99999x64" }, "size must be auto, or have the form 1024x1024.", "size"],
    [{ n: "1.5" }, "n is not a whole number (1 to 15).", "n"],
    [{ n: 16 }, "n: at most 15.", "n"],
    [{ n: 0 }, "n: at least 1.", "n"],
    [{ seed: -2 }, "seed: at least 0.", "seed"],
    [{ n: {} }, "n is not a whole number (1 to 15).", "n"],
    [{ image: 7 }, "An image must be a URL or a file.", "image"],
    [{ images: [{ file_id: "7" }] }, "An image must be a URL or a file.", "image"],
    [{ response_format: "jpeg" }, "response_format must be b64_json or url.", "response_format"],
  ])("names the field that is wrong: %j", async (fields, message, param) => {
    const reply = await ask(await withOpenAi(), JSON.stringify({ prompt: "a fox", ...fields }));
    expect([reply.statusCode, await reply.body.json()]).toEqual([
      400,
      { error: { message, type: "invalid_request_error", param, code: null } },
    ]);
  });

  it.each(["[]", "7", "null", "{"])("refuses %s, which is no object", async (body) => {
    const reply = await ask(await withOpenAi(), body);
    expect([reply.statusCode, await reply.body.json()]).toMatchObject([
      400,
      { error: { message: "The body is not a JSON object.", param: null } },
    ]);
  });

  it("says how a task failed, and the client sends nothing again", async () => {
    const words = { 1: "Your request was rejected by the safety system.", 2: "the connection was cut" };
    const provider = scriptedProvider((_job, _how, number) =>
      number === 1 ? failing("refused", words[1]) : failing("lost", words[2]),
    );
    const { openai } = await withOpenAi({ provider, options: { isPaid: true } });
    const fox = () => failure(openai.images.generate({ prompt: "a fox" }));
    expect(await fox()).toMatchObject({ status: 400, code: "moderation_blocked" });
    const lookUp = /The connection was cut\. To check the task: imggen status task_[0-9a-f]{20}$/;
    expect(await fox()).toMatchObject({
      status: 422,
      code: "outcome_unknown",
      message: expect.stringMatching(lookUp),
    });
    expect(provider.jobs).toHaveLength(2);
  });

  it("has its status where the client streams, as long as nothing was sent", async () => {
    const provider = scriptedProvider(() => failing("refused", "no"));
    const { openai } = await withOpenAi({ provider });
    const call = openai.images.generate({ prompt: "a fox", stream: true });
    expect(await failure(call)).toMatchObject({ status: 422, code: "generation_failed" });
    expect(provider.jobs).toHaveLength(1);
  });

  it("comes as an event in a stream that has begun", async () => {
    let refuse = () => {};
    const mayEnd = new Promise<void>((resolve) => (refuse = resolve));
    const provider = scriptedProvider(() => mayEnd.then(() => failing("refused", "no")));
    const { openai } = await withOpenAi({ provider, clock: quickClock });
    const stream = await openai.images.generate({ prompt: "a fox", stream: true });
    refuse();
    await expect(
      (async () => {
        for await (const _event of stream);
      })(),
    ).rejects.toThrow("No.");
  });

  it("says that the day's limit is reached", async () => {
    const { openai } = await withOpenAi({ dailyCredits: 3, options: { isPaid: true } });
    const call = openai.images.generate({ prompt: "a fox" });
    expect(await failure(call)).toMatchObject({ status: 429, code: "insufficient_quota" });
  });
});

describe("where the generator refuses the account", () => {
  it.each([
    ["my_credits.no_credits_description", 429, "insufficient_quota"],
    ["login_required", 503, "generator_account"],
  ] as const)("%s is no refusal of a prompt, whatever its words", async (key, status, code) => {
    const words = "Your plan has no content policy check.";
    const provider = scriptedProvider(() => failing({ kind: "account", key }, words));
    const { openai } = await withOpenAi({ provider, options: { isPaid: true } });
    expect(await failure(openai.images.generate({ prompt: "a fox" }))).toMatchObject({ status, code });
  });

  it("a client that cannot come back is told, and its task is ended: its next attempt is another", async () => {
    const key = "my_credits.no_credits_description";
    const provider = scriptedProvider(() => failing({ kind: "account", key }, "No credit."));
    const { openai, ledger } = await withOpenAi({ provider, options: { isPaid: true } });
    const fox = () => failure(openai.images.generate({ prompt: "a fox" }));
    for (const _each of [1, 2])
      expect(await fox()).toMatchObject({ status: 429, code: "insufficient_quota" });
    expect(provider.jobs).toHaveLength(1);
    expect(await ledger.unfinished()).toEqual([]);
  });

  it("a request with a key is over too, and its key begins it again", async () => {
    let isRefused = true;
    const provider = scriptedProvider((job) => (isRefused ? failing("account", "No key.") : drawn(job)));
    const { openai, ledger } = await withOpenAi({ provider, options: { isPaid: true }, clock: quickClock });
    const ask = () => openai.images.generate({ prompt: "a fox" }, { headers: { "Idempotency-Key": "k" } });
    expect(await failure(ask())).toMatchObject({ status: 503, code: "generator_account" });
    expect(await ledger.unfinished()).toEqual([]);
    isRefused = false;
    await quickClock.sleep(6_000);
    expect((await ask()).data).toHaveLength(1);
    expect((await ask()).data).toHaveLength(1);
    expect(provider.jobs).toHaveLength(2);
  });
});

it("a client that hangs up loses nothing: with the same key it finds its task", async () => {
  const { provider, answer } = heldProvider();
  const { openai } = await withOpenAi({ provider, options: { isPaid: true } });
  const headers = { "Idempotency-Key": "one" };
  const gone = new AbortController();
  const first = openai.images.generate({ prompt: "a fox" }, { headers, signal: gone.signal });
  await provider.sent(1);
  gone.abort();
  await expect(first).rejects.toThrow();
  const second = openai.images.generate({ prompt: "a fox" }, { headers });
  await answer(1);
  expect((await second).data).toHaveLength(1);
  expect(provider.jobs).toHaveLength(1);
});

it("with --keep-alive white space is sent before the image is there, so that no proxy gives up", async () => {
  const begun = new EventEmitter();
  const isAlive = once(begun, "alive");
  const provider = scriptedProvider((job) => isAlive.then(() => drawn(job)));
  const server = await withOpenAi({ provider, clock: quickClock, keepAliveMs: 1_000 });
  const { statusCode, body } = await ask(server, JSON.stringify({ prompt: "a fox" }));
  begun.emit("alive");
  expect(statusCode).toBe(200);
  const text = await body.text();
  expect(text).toMatch(/^( \n)+\{/);
  expect(JSON.parse(text).data).toHaveLength(1);
});

it("a server that closes leaves the task to the next, and the connection ends", async () => {
  const provider = scriptedProvider((_job, how) => endless(how));
  const { openai, close, folder } = await withOpenAi({ provider });
  const keyed = { headers: { "Idempotency-Key": "k" }, maxRetries: 0 };
  const call = openai.images.generate({ prompt: "a fox" }, keyed);
  const failed = expect(call).rejects.toThrow();
  await provider.sent(1);
  await close();
  await failed;
  const next = await withOpenAi({ folder });
  const { data } = await next.openai.images.generate({ prompt: "a fox" }, keyed);
  expect(data).toHaveLength(1);
});
