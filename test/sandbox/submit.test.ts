import { describe, expect, it } from "vitest";
import { SANDBOX_BASIC_KEY } from "../../src/sandbox/server.ts";
import { openState } from "../../src/sandbox/state/state.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { answer, drain, liveSandbox } from "./live.ts";

const INVALID = { status: 400, body: { code: -1, message: "image_generation.error.invalid_request" } };
const fox = { prompt: "a fox" };
const oneImage = ["https://images.test/0.png"];

describe("credentials", () => {
  it("a submit with a key is accepted and answered with a task id", async () => {
    const { submit } = await liveSandbox();
    const { status, headers, body } = await submit(fox);
    expect(status).toBe(200);
    expect(headers["content-type"]).toBe("application/json");
    const data = { taskId: expect.stringMatching(/^task_[0-9a-f]{20}$/) };
    expect(body).toEqual({ code: 0, message: "ok", data });
  });

  it.each(["bearer", "BEARER"])("take the scheme %s in any letter case", async (scheme) => {
    const { post } = await liveSandbox();
    const { body } = await post(JSON.stringify(fox), { authorization: `${scheme} sk-sandbox` });
    expect(body.code).toBe(0);
  });

  const wrong = [
    "",
    "Bearer",
    "Bearer ",
    "Bearer pk-a",
    "Bearer sk-",
    "sk-sandbox",
    "Basic sk-a",
    "Bearer sk-a b",
  ];
  it.each(wrong)("the authorization %j is refused before anything else is checked", async (authorization) => {
    const { baseUrl, post } = await liveSandbox();
    const login = { status: 200, body: { code: -1, message: "login_required" } };
    const url = `${baseUrl}/generate-image?taskId=1`;
    expect(await post("no JSON", { authorization })).toMatchObject(login);
    expect(await answer(url, { headers: { authorization } })).toMatchObject(login);
    expect(await answer(url)).toMatchObject(login);
  });

  it("a refusal carries no data", async () => {
    const { submit } = await liveSandbox();
    expect(Object.keys((await submit({})).body)).toEqual(["code", "message"]);
  });
});

describe("the body", () => {
  const texts = ["", "{", "'fox'", '{"prompt":"a fox",}', "[".repeat(500_000), "null", "[]", '"a fox"', "1"];
  it.each(texts)("%.20j is no request", async (text) => {
    const { post } = await liveSandbox();
    expect(await post(text)).toMatchObject(INVALID);
  });

  it("that is not UTF-8 is refused", async () => {
    const { post } = await liveSandbox();
    const bytes = Uint8Array.from([...Buffer.from('{"prompt":"'), 0xff, ...Buffer.from('"}')]);
    expect(await post(bytes)).toMatchObject(INVALID);
  });

  it("declared as something other than JSON is HTTP 415", async () => {
    const { post } = await liveSandbox();
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/jsonx"]) {
      const reply = await post(JSON.stringify(fox), { "content-type": type });
      expect(reply).toMatchObject({ ...INVALID, status: 415 });
    }
  });

  it("may be declared with a character set, in any case", async () => {
    const { post } = await liveSandbox();
    const reply = await post(JSON.stringify(fox), { "content-type": "Application/JSON; charset=utf-8" });
    expect(reply.body.code).toBe(0);
  });

  it("up to 1 MiB is read, and one that is larger is refused", async () => {
    const { post } = await liveSandbox();
    const sized = (bytes: number) => JSON.stringify({ ...fox, more: "x".repeat(bytes) });
    const room = 1024 * 1024 - sized(0).length;
    expect((await post(sized(room))).body.code).toBe(0);
    expect(await post(sized(room + 1))).toMatchObject(INVALID);
    expect(await post(sized(12 * 1024 * 1024))).toMatchObject(INVALID);
  });

  it.each([
    { prompt: 1 },
    { prompt: ["a fox"] },
    { model: null },
    { model: 2 },
    { ratio: 1 },
    { ratio: null },
    { quality: ["1K"] },
    { maxImages: "1" },
    { image: 1 },
    { image: [1] },
    { image: {} },
  ])("with %j has a field of the wrong type", async (part) => {
    const { submit } = await liveSandbox();
    expect(await submit({ ...fox, ...part })).toMatchObject(INVALID);
  });

  it("may hold fields that the document does not name", async () => {
    const { post } = await liveSandbox();
    const reply = await post('{"prompt":"a fox","__proto__":{"model":"none"},"constructor":1,"seed":7}');
    expect(reply.body.code).toBe(0);
  });

  it("takes no field from __proto__", async () => {
    const { post } = await liveSandbox();
    const { body } = await post('{"__proto__":{"prompt":"a fox"}}');
    expect(body.message).toBe("image_generation.error.empty_prompt");
  });
});

it.each([{}, { prompt: null }, { prompt: "" }, { prompt: " \n\t" }])(
  "the prompt of %j is empty",
  async (request) => {
    const { submit } = await liveSandbox();
    const reply = { status: 200, body: { code: -1, message: "image_generation.error.empty_prompt" } };
    expect(await submit(request)).toMatchObject(reply);
  },
);

describe("the model", () => {
  it.each(["", "alpha-2", "VENDOR1/ALPHA-2", "vendor9/omega", "constructor"])("%j is none", async (model) => {
    const { submit } = await liveSandbox();
    expect(await submit({ ...fox, model })).toMatchObject(INVALID);
  });

  it("gamma-image-2-5-flare-image takes https only", async () => {
    const { submit } = await liveSandbox();
    const image = [...oneImage, "http://images.test/fox.png"];
    expect(await submit({ ...fox, model: "gamma-image-2-5-flare-image", image })).toMatchObject(INVALID);
    expect((await submit({ ...fox, model: "gamma-image-2", image })).body.code).toBe(0);
  });

  it.each(["gamma-image-2-5-flare-text", "gamma-image-2-5-flare-image", "gamma-image-2-5-sunburst-text"])(
    "%s needs a subscription, which only one key lacks",
    async (model) => {
      const { as } = await liveSandbox({ credits: 3 });
      const request = { ...fox, model, image: model.includes("image-2-5-flare-image") ? oneImage : [] };
      const basic = as(SANDBOX_BASIC_KEY);
      const required = { status: 403, body: { code: -1, message: "SUBSCRIPTION_REQUIRED" } };
      expect(await basic.submit(request)).toMatchObject(required);
      expect((await basic.submit({ ...fox, model: "gamma-image-2" })).body.code).toBe(0);
      expect((await as("sk-somebody").submit(request)).body.code).toBe(0);
    },
  );
});

// The documented ones: test/models/matrix.test.ts.
describe("the price", () => {
  it.each([
    ["gamma-image-2", undefined, 2],
    ["gamma-image-2", "4K", 8],
    ["delta-Image", undefined, 2],
    ["vendor1/alpha-2", "4K", 1],
  ])("of %s at %s is %i", async (model, quality, credits) => {
    const sandbox = await liveSandbox({ credits: 20 });
    const image = /delta/.test(model) ? oneImage : [];
    await sandbox.accepted({ ...fox, model, image, ...(quality && { quality }) });
    expect(await drain(sandbox)).toBe(20 - credits);
  });

  it("is not charged where the request is refused", async () => {
    const sandbox = await liveSandbox({ credits: 20 });
    await sandbox.submit({ ...fox, ratio: "7:5" });
    await sandbox.submit({});
    expect(await drain(sandbox)).toBe(20);
  });

  it("that the balance does not cover is refused, and the rest stays", async () => {
    const { submit } = await liveSandbox({ credits: 7 });
    expect(await submit({ ...fox, model: "gamma-image-2", quality: "4K" })).toMatchObject({
      status: 200,
      body: { code: -1, message: "my_credits.no_credits_description" },
    });
    expect((await submit({ ...fox, model: "gamma-image-2", quality: "2K" })).body.code).toBe(0);
  });

  it("is checked only after the request's own rules", async () => {
    const { submit } = await liveSandbox({ credits: 0 });
    expect((await submit({})).body.message).toBe("image_generation.error.empty_prompt");
    expect(await submit({ ...fox, ratio: "7:5" })).toMatchObject(INVALID);
  });

  it("is each account's own: a new key starts with the credits that were set, or 1000", async () => {
    const { as } = await liveSandbox({ credits: 9 });
    expect(await drain(as("sk-one"))).toBe(9);
    expect(await drain(as("sk-two"))).toBe(9);
    const { accounts } = await openState({ folder: await temporaryFolder() });
    const usual = accounts.find("sk-one");
    expect([accounts.covers(usual, 1001), accounts.charge(usual, 1000)]).toEqual([false, 0]);
  });
});
