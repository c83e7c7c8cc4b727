import { cp, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { type ClientOptions, createClient } from "../../src/client/index.ts";
import { CANARY } from "../support/canary.ts";
import { comfyDouble, workflow } from "../support/comfyui.ts";
import { generatorWorld, makesImage, modelList, refuses } from "../support/generator-world.ts";
import { png } from "../support/images.ts";
import { failureOf } from "./client-world.ts";

async function world(...args: Parameters<typeof generatorWorld>) {
  const { generator, home, prompts } = await generatorWorld(...args);
  const client = (options: ClientOptions = {}) => {
    const made = createClient({ generator: generator.origin, home, ...options });
    onTestFinished(() => made.close());
    return made;
  };
  return { generator, home, prompts, client, output: `${home}/pictures/` };
}

describe("a client of the user's own generator", () => {
  it("sends a seed, a negative prompt and fields, of a row and of a batch too", async () => {
    const { client, output, generator } = await world();
    const made = client();
    const own = { seed: 7, negative: "rain", fields: { steps: 20 } };
    expect(await made.generate({ prompt: "a fox", output, ...own })).toMatchObject({ request: own });
    const row = { prompt: "a fox", seed: 8 };
    const batch = made.batch([row], { output, negative: "rain", fields: { steps: 20 } });
    for await (const row of batch) expect(row).toMatchObject({ ok: true, request: { ...own, seed: 8 } });
    const bodies = generator.submits().map(({ body }) => JSON.parse(body));
    const sent = { negative_prompt: "rain", steps: 20 };
    expect(bodies).toMatchObject([
      { seed: 7, ...sent },
      { seed: 8, ...sent },
    ]);
  });

  it.each([
    [{ fields: { n: 4 } }, "fields: n is set by imggen."],
    [{ fields: { parameters: { sampleCount: 4 } } }, "fields: sampleCount in parameters is set by imggen."],
    [{ fields: { steps: [Number.NaN] } }, "generate: fields must be an object of JSON values."],
    [{ fields: { steps: () => 4 } }, "generate: fields must be an object of JSON values."],
    [{ seed: -1 }, "generate: seed must be at least 0."],
    [{ seed: "99999999999999999999" }, "generate: seed must be at most 18446744073709551615."],
    [{ seed: 2 ** 53 }, "generate: seed must be a whole number, given as a string if it is above 2^53 - 1."],
  ])("refuses %j", async (options, message) => {
    const { client, output, generator } = await world();
    // Callers without types give anything.
    const given: object = { prompt: "a fox", output, ...options };
    const call = client().generate(given as { prompt: string });
    expect((await failureOf(call)).error.message).toBe(message);
    expect(generator.submits()).toEqual([]);
  });

  it("generates with it, and knows what it took", async () => {
    const { client, output, generator } = await world(makesImage, modelList("sd3"));
    const made = client({ generatorKey: CANARY, generatorModel: "sd3" });
    expect(made.estimate({ prompt: "a fox" })).toMatchObject({ request: { model: "sd3" }, credits: 0 });
    expect(await made.generate({ prompt: "a fox", output })).toMatchObject({
      ok: true,
      taskId: expect.stringMatching(/^task_/),
      credits: 0,
      charged: "no",
      files: [{ url: null }],
      usage: { total_tokens: 12 },
    });
    expect(generator.submits()[0]?.headers.authorization).toBe(`Bearer ${CANARY}`);
  });

  it("gives it reference images from files, and knows the request again by their bytes", async () => {
    const { client, output, home, generator } = await world();
    const image = path.join(home, "fox.png");
    await writeFile(image, png());
    const made = client();
    const first = await made.generate({ prompt: "a fox", image, output });
    await cp(image, `${image}.moved.png`);
    const moved = { prompt: "a fox", image: `${image}.moved.png` };
    expect(await made.reuse({ ...moved, output })).toMatchObject({ reused: true, taskId: first.taskId });
    for await (const row of made.batch([{ prompt: "a bear", image }], { output }))
      expect(row).toMatchObject({ ok: true });
    expect(generator.submits().map(({ target }) => target)).toEqual(["/v1/images/edits", "/v1/images/edits"]);
  });

  it("of a ComfyUI server sends the workflow of a file", async () => {
    const { home, output } = await world();
    const { url, submits } = await comfyDouble();
    const file = path.join(home, "fox.json");
    await writeFile(file, JSON.stringify(workflow()));
    const made = createClient({ generator: `comfyui:${url}`, workflow: file, home });
    onTestFinished(() => made.close());
    expect(await made.generate({ prompt: "a fox", output })).toMatchObject({ ok: true, charged: "no" });
    expect(submits.map(({ prompt }) => prompt["6"]?.inputs.text)).toEqual(["a fox"]);
    const of = (options: ClientOptions) => () => createClient({ home, ...options });
    expect(of({ generator: `comfyui:${url}`, workflow: "" })).toThrow(/workflow/);
    expect(of({ generator: "openai", workflow: file })).toThrow("workflow is for a ComfyUI server.");
  });

  it("that costs money throws an unknown outcome where a reply is lost, and sends nothing again", async () => {
    const { client, output, generator } = await world(refuses(524, "timeout"));
    const made = client({ generatorPaid: true });
    for (let time = 0; time < 2; time++) {
      const failure = await failureOf(made.generate({ prompt: "a fox", output }));
      expect(failure).toMatchObject({ charged: "unknown", error: { type: "outcome_unknown", exitCode: 9 } });
    }
    expect(generator.submits()).toHaveLength(1);
  });

  it("waits for its images", async () => {
    const { client, output } = await world();
    const call = client().generate({ prompt: "a fox", output, wait: false });
    expect(await failureOf(call)).toMatchObject({
      error: { type: "usage", message: expect.stringContaining("wait: false") },
    });
  });
});

it.each<ClientOptions>([
  { generator: "openai", sandbox: true },
  { generator: "openai", baseUrl: "https://service.example/api" },
  { generator: "openai", apiKey: CANARY },
  { generator: "comfyui" },
  { generator: "openai", generatorConcurrency: 0 },
  { generatorModel: "flux", generator: "http://gpubox:1234", generatorKey: CANARY },
])("which service a client uses is its options' to say %j is refused at once", (options) => {
  expect(() => createClient(options)).toThrow(
    expect.objectContaining({ error: expect.objectContaining({ type: "usage" }) }),
  );
});
