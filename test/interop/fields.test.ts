import { describe, expect, it } from "vitest";
import { clientOf } from "../sandbox/live.ts";
import { drawn, scriptedProvider } from "../serve/provider-script.ts";
import { png } from "../support/images.ts";
import { failure, withOpenAi } from "./openai-client.ts";

type Body = Parameters<Awaited<ReturnType<typeof withOpenAi>>["openai"]["images"]["generate"]>[0];

/** A request with fields that OpenAI's types do not have. */
const asked = (fields: object) => ({ prompt: "a fox", ...fields }) as Body & { stream?: false };

describe("a field of a request in OpenAI's form", () => {
  it("goes to the generator: seed, negative_prompt, steps and others", async () => {
    const provider = scriptedProvider();
    const { openai } = await withOpenAi({ provider });
    const loras = [{ path: "fox" }];
    await openai.images.generate(asked({ seed: 7, negative_prompt: "rain", steps: 20, loras, n: 2 }));
    const own = { negative: "rain", steps: 20, loras };
    expect(provider.jobs.map(({ options }) => options.fields)).toEqual([
      { ...own, seed: 7 },
      { ...own, seed: 8 },
    ]);
  });

  it("goes to the generator from a form too, a number as one", async () => {
    const provider = scriptedProvider();
    const { openai } = await withOpenAi({ provider });
    const image = new File([new Uint8Array(png())], "a.png");
    const own: object = { steps: 20, seed: 7, hires: true };
    await openai.images.edit({ prompt: "a fox", image, ...own });
    expect(provider.jobs[0]?.options.fields).toEqual({ steps: 20, seed: 7, hires: true });
  });

  it.each([
    ["seed", { seed: 7 }],
    ["negative_prompt", { negative_prompt: "rain" }],
    ["steps", { cfg: 7, steps: 20 }],
    ["size", { size: "1536x1024" }],
    ["image", { image: "https://example.com/x.png" }],
  ])("that the generator does not support is refused with its name: %s", async (param, fields) => {
    const named = { ...scriptedProvider() };
    const provider = {
      ...named,
      check: ({ request, options, references }: Parameters<NonNullable<typeof named.check>>[0]) =>
        "steps" in options.fields || request.ratio || references.length > 0 ? "It cannot do that." : null,
    };
    const { openai } = await withOpenAi({ provider, options: { fieldNames: {} } });
    const told = await failure(openai.images.generate(asked(fields)));
    expect(told).toMatchObject({ status: 400, type: "invalid_request_error", param });
    expect(named.jobs).toEqual([]);
  });

  it.each([
    ["n", { seed: undefined, n: 0 }],
    ["seed", { seed: 1.5 }],
    ["seed", { seed: "x" }],
    ["seed", { seed: [7] }],
    ["stream", { stream: "maybe" }],
    ["width", { width: 512 }],
    ["batch_size", { steps: 20, batch_size: 4 }],
  ])("that is wrong is refused with its name: %s of %j", async (param, fields) => {
    const { openai } = await withOpenAi();
    expect(await failure(openai.images.generate(asked(fields)))).toMatchObject({ status: 400, param });
  });

  it("that asks for nothing is ignored: null, a seed of -1, an empty negative prompt, OpenAI's own defaults", async () => {
    const provider = scriptedProvider();
    const { openai } = await withOpenAi({ provider, options: { fieldNames: {} } });
    const none = { seed: -1, negative_prompt: "", steps: null, mask: null, user: "u", partial_images: 0 };
    const usual = { background: "auto", moderation: "auto", output_format: "png", style: "vivid" };
    for (const quality of ["auto", "standard"]) {
      const result = await openai.images.generate(asked({ ...none, ...usual, quality }));
      expect(result).not.toHaveProperty("warnings");
    }
    expect(provider.jobs.map(({ options }) => options.fields)).toEqual([{}, {}]);
  });

  it("of OpenAI's own that the generator does not have is answered with a warning, in a stream too", async () => {
    const provider = scriptedProvider();
    const { openai } = await withOpenAi({ provider });
    const fields = { quality: "high", background: "transparent", output_format: "webp" };
    const warnings = Object.entries(fields).map(
      ([name, value]) => `${name} ${value} has no effect: this generator does not support it.`,
    );
    expect(await openai.images.generate(asked(fields))).toMatchObject({ warnings });
    const stream = await openai.images.generate({ ...asked(fields), stream: true });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events).toMatchObject([{ type: "image_generation.completed", warnings }]);
    expect(provider.jobs.map(({ options }) => options.fields)).toEqual([{}, {}]);
  });

  it("that the generator drops, though it was sent on, is answered with a warning", async () => {
    const words = "Fields not sent, because sdxl has no such input: steps.";
    const provider = scriptedProvider((job, { onWarning }) => {
      onWarning?.(words);
      return drawn(job);
    });
    const { openai } = await withOpenAi({ provider });
    expect(await openai.images.generate(asked({ steps: 20 }))).toMatchObject({ warnings: [words] });
  });
});

describe("the models", () => {
  const LIST = async () => ["sdxl", "org/flux", "mit Leer, é.safetensors"];
  const DEFAULT = { name: "default", isOnly: false };

  it.each([
    ["of a list", LIST, DEFAULT, null],
    ["of a workflow", LIST, { name: "my flow (2)", isOnly: true }, [null, null]],
    ["of a generator without a list", async () => null, DEFAULT, [null, null]],
  ])("%s are listed, described, and accepted by both APIs", async (_what, models, ownModel, sent) => {
    const provider = scriptedProvider();
    const server = await withOpenAi({ provider, models, ownModel });
    const { openai } = server;
    const { data } = await openai.models.list();
    const ids = data.map(({ id }) => id);
    expect(ids).toEqual(sent === null ? await models() : [ownModel.name]);
    for (const id of ids) {
      expect(await openai.models.retrieve(id)).toMatchObject({ id, object: "model" });
      expect((await openai.images.generate({ prompt: "a fox", model: id })).data).toHaveLength(1);
      const { body } = await clientOf(server.baseUrl, server.apiKey).submit({ prompt: "a fox", model: id });
      expect(body.code).toBe(0);
    }
    await provider.sent(2 * ids.length);
    const names = provider.jobs.map(({ options }) => options.model);
    expect(names).toEqual(sent ?? ids.flatMap((id) => [id, id]));
  });

  it("of a generator with one: any name is taken, and the real one is sent", async () => {
    const provider = scriptedProvider();
    const server = await withOpenAi({ provider, models: async () => ["sdxl"] });
    await server.openai.images.generate({ prompt: "a fox", model: "gpt-image-1" });
    await server.ended(await server.accepted({ prompt: "a fox", model: "dall-e-3" }));
    expect(provider.jobs.map(({ options }) => options.model)).toEqual(["sdxl", "sdxl"]);
    expect((await server.openai.models.list()).data.map(({ id }) => id)).toEqual(["sdxl"]);
  });
});
