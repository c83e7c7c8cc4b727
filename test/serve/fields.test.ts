import { request } from "undici";
import { describe, expect, it } from "vitest";
import { bodies, ONE_IMAGE, scriptedOpenAi } from "../providers/openai/openai-world.ts";
import { scriptedProvider } from "./provider-script.ts";
import { liveServer } from "./serve-world.ts";

const INVALID = "image_generation.error.invalid_request";
const SEED = "18446744073709551615";

/** Posts a text as JSON. */
async function post(server: { baseUrl: string; apiKey: string }, path: string, body: string) {
  const headers = { authorization: `Bearer ${server.apiKey}`, "content-type": "application/json" };
  const reply = await request(new URL(path, server.baseUrl), { method: "POST", headers, body });
  return { status: reply.statusCode, json: JSON.parse(await reply.body.text()) };
}

const IMAGES = "/v1/images/generations";
const SUBMIT = "/api/generate-image";

it.each([
  [{ steps: 20 }, '"steps" is not a field of this API. Put the generator\'s fields into "fields".'],
  [{ Prompt: "x" }, '"Prompt" is not a field of this API. Put the generator\'s fields into "fields".'],
  [{ seed: 1.5 }, `Seed is not a whole number (0 to ${SEED}).`],
  [{ seed: -1 }, "seed: at least 0."],
  [{ seed: "x" }, "seed has the wrong type."],
  [{ seed: null }, "seed has the wrong type."],
  [{ negative: ["a"] }, "negative has the wrong type."],
  [{ fields: [] }, "fields has the wrong type."],
  [{ fields: { n: 4 } }, "fields: n is set by imggen."],
  [{ fields: { a: { num_images: 4 } } }, "fields: num_images in a is set by imggen."],
  [{ fields: { "a b": 1 } }, 'fields: "a b" is not a valid name.'],
  [{ ratio: "16-9" }, expect.stringContaining("Ratio 16-9")],
])("the document's API refuses %j by name", async (fields, detail) => {
  const provider = scriptedProvider();
  const { submit } = await liveServer({ provider });
  const { body } = await submit({ prompt: "a fox", ...fields });
  expect(body).toEqual({ code: -1, message: INVALID, detail });
  expect(provider.jobs).toEqual([]);
});

describe.each([
  ["the document's API", SUBMIT, "fields"],
  ["OpenAI's form", IMAGES, null],
])("hostile fields of %s", (_name, path, within) => {
  const bodyWith = (fields: string) =>
    within === null ? `{"prompt":"a fox",${fields}}` : `{"prompt":"a fox","${within}":{${fields}}}`;
  const deep = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

  it.each<[string, string]>([
    ["a name that is no name", '"__proto__":{"a":1}'],
    ["a number that is too long", '"steps":12345678901234567890'],
    ["a number that is too long, within", '"a":{"b":[12345678901234567890]}'],
    ["a deep list", `"a":${deep(100_000)}`],
    ["10,000 fields", Array.from({ length: 10_000 }, (_, at) => `"f${at}":${at}`).join(",")],
    ["a size that is set otherwise", '"width":64'],
  ])("with %s are refused, and nothing is sent", async (_what, fields) => {
    const provider = scriptedProvider();
    const server = await liveServer({ provider });
    const { status, json } = await post(server, path, bodyWith(fields));
    expect(status).toBe(400);
    const said = within === null ? json.error.message : json.detail;
    expect(said).toMatch(/__proto__|steps|"?a"? |At most 64|width/);
    expect(provider.jobs).toEqual([]);
  });

  it("with names of an object's own methods are fields like any other", async () => {
    const provider = scriptedProvider();
    const server = await liveServer({ provider });
    const { status } = await post(server, path, bodyWith('"constructor":1,"toString":2,"hasOwnProperty":3'));
    expect(status).toBe(200);
    await provider.sent(1);
    expect(Object.entries(provider.jobs[0]?.options.fields ?? {}).sort()).toEqual([
      ["constructor", 1],
      ["hasOwnProperty", 3],
      ["toString", 2],
    ]);
  });
});

it.each([
  ['{"toString":1,"valueOf":1}', "n"],
  [`${"[".repeat(100_000)}${"]".repeat(100_000)}`, "n"],
])("a number of images that is %s is refused by its name", async (n, param) => {
  const server = await liveServer();
  const { status, json } = await post(server, IMAGES, `{"prompt":"a fox","n":${n.slice(0)}}`);
  expect([status, json.error.param]).toEqual([400, param]);
});

describe.each([
  ["the document's API", SUBMIT],
  ["OpenAI's form", IMAGES],
])("a seed beyond 2^53, in %s", (_name, path) => {
  it.each([SEED, `"${SEED}"`])("is sent digit by digit: %s", async (seed) => {
    const { server: generator, generator: openAi } = await scriptedOpenAi(ONE_IMAGE);
    const server = await liveServer({ provider: openAi.provider });
    expect((await post(server, path, `{"prompt":"a fox","seed":${seed}}`)).status).toBe(200);
    await expect.poll(() => bodies(generator)).toHaveLength(1);
    expect(generator.submits()[0]?.body).toContain(`"seed":${SEED}`);
  });

  it("is part of what makes two requests equal", async () => {
    const provider = scriptedProvider();
    const server = await liveServer({ provider, onceMs: 60_000 });
    for (const seed of ["9007199254740992", "9007199254740993", "9007199254740993"])
      expect((await post(server, path, `{"prompt":"a fox","seed":${seed}}`)).status).toBe(200);
    await provider.sent(2);
    await expect
      .poll(() => provider.jobs.map(({ options }) => options.fields.seed))
      .toEqual(["9007199254740992", "9007199254740993"]);
  });

  it("above 2^64 is refused", async () => {
    const { status } = await post(await liveServer(), path, `{"prompt":"a fox","seed":${SEED}0}`);
    expect(status).toBe(400);
  });
});
