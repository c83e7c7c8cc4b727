import { describe, expect, it } from "vitest";
import { MODELS } from "../../../src/models/matrix.ts";
import { modelsAt, OPENAI_MATRIX, openAiName } from "../../../src/providers/openai/server-forms.ts";
import { CANARY } from "../../support/canary.ts";
import { PICTURE, png } from "../../support/images.ts";
import { json, response } from "../../support/scripted-server.ts";
import { DATA_REFERENCE, fileReference } from "../job.ts";
import { BASE64, bodies, expectPicture, failing, made, ONE_IMAGE, scriptedOpenAi } from "./openai-world.ts";
import { expectPublished } from "./published-fields.ts";

const OPENAI = { as: "https://api.openai.com/v1", key: CANARY, isPaid: true };

const event = (data: object): string => `event: message\ndata: ${JSON.stringify(data)}\n\n`;
const stream = (...events: object[]): Buffer =>
  response(200, events.map(event).join(""), { "content-type": "text/event-stream; charset=utf-8" });

const COMPLETED = { type: "image_generation.completed", b64_json: BASE64, usage: { total_tokens: 7 } };

describe("a request to OpenAI", () => {
  it.each(OPENAI_MATRIX.map(({ id }) => id))("for %s has its published fields alone", async (model) => {
    const { server, generator } = await scriptedOpenAi(stream(COMPLETED), OPENAI);
    await expectPicture(generator, { model, width: 1024, height: 1024 });
    await expectPicture(generator, { model, width: 4096, height: 2304 });
    await expectPicture(generator, { model, width: 341, height: 1024 });
    for (const body of bodies(server)) expectPublished(body, "generations");
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${CANARY}`,
      "x-client-request-id": "task_1",
      "content-type": "application/json",
    });
  });

  it("for a model of the service asks for the one that fits it, and without a model for the default", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, OPENAI);
    await expectPicture(generator, { model: "gamma-image-2-5-flare-text" });
    await expectPicture(generator, { model: null });
    expect(bodies(server).map(({ model }) => model)).toEqual(["gpt-image-2.5-flare", "gpt-image-2"]);
  });

  it("sends reference images as URLs, those of this disk as data", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, OPENAI);
    const references = [await fileReference(), { url: "https://example.com/1.webp" }];
    await expectPicture(generator, { model: "gpt-image-2", references, width: 1024, height: 1024 });
    expect(server.requests[0]?.target).toBe("/v1/images/edits");
    const [body = {}] = bodies(server);
    expectPublished(body, "edits");
    const urls = [DATA_REFERENCE.url, "https://example.com/1.webp"];
    expect(body.images).toEqual(urls.map((image_url) => ({ image_url })));
  });

  it("is not sent where a reference image is gone from the disk", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, OPENAI);
    const references = [{ file: "/nowhere/fox.png", mediaType: "image/png" }];
    const message = expect.stringContaining("no such file");
    expect(await failing(generator, { references })).toMatchObject({ what: "invalid_request", message });
    expect(server.requests).toEqual([]);
  });
});

describe("a stream from OpenAI", () => {
  const PARTIAL = { type: "image_generation.partial_image", b64_json: "AAAA" };

  it("is what it asks for, and ends with the image and its usage", async () => {
    const { server, generator } = await scriptedOpenAi(stream(PARTIAL, COMPLETED), OPENAI);
    expect((await expectPicture(generator)).usage).toEqual({ total_tokens: 7 });
    expect(bodies(server)[0]).toMatchObject({ stream: true, partial_images: 0 });
  });

  it("may have other line ends, and comments", async () => {
    const text = `: hello\r\n\r\nevent: image_edit.completed\r\ndata: ${JSON.stringify(COMPLETED)}\r\n\r\ndata: [DONE]\r\n\r\n`;
    const answer = response(200, text, { "content-type": "text/event-stream" });
    await expectPicture((await scriptedOpenAi(answer, OPENAI)).generator);
  });

  it("may hold several images", async () => {
    const second = { type: COMPLETED.type, b64_json: png(1).toString("base64") };
    const { images, usage } = await made((await scriptedOpenAi(stream(COMPLETED, second), OPENAI)).generator);
    expect(images).toEqual([PICTURE, png(1)].map((bytes) => ({ kind: "bytes", bytes })));
    expect(usage).toEqual({ total_tokens: 7 });
  });

  const BLOCKED = { type: "error", error: { code: "moderation_blocked", message: "Rejected." } };

  it.each([
    ["without the image may have cost it", PARTIAL, "unknown", ""],
    ["with an error says which", BLOCKED, "generation_failed", "Rejected"],
  ])("that ends %s", async (_how, last, what, words) => {
    const { generator } = await scriptedOpenAi(stream(last), OPENAI);
    expect(await failing(generator)).toMatchObject({ what, message: expect.stringContaining(words) });
  });

  it("is not asked for again of a model that refuses to stream", async () => {
    const error = { message: "Your organization must be verified to stream this model.", param: "stream" };
    const { server, generator } = await scriptedOpenAi(
      ({ body }, socket) =>
        void socket.write(body.includes("stream") ? json({ error }, 400) : json(ONE_IMAGE)),
      OPENAI,
    );
    await expectPicture(generator);
    await expectPicture(generator);
    for (const body of bodies(server)) expectPublished(body, "generations");
    expect(bodies(server).map((body) => "stream" in body)).toEqual([true, false, false]);
  });
});

describe("the table of OpenAI's models", () => {
  it("has every model of the service that fits one, under its own id", () => {
    const ids = MODELS.map(({ id }) => id).filter((id) => openAiName(id) !== id);
    expect(ids).toEqual([
      "gamma-image-2",
      "gamma-image-2-5-flare-text",
      "gamma-image-2-5-flare-image",
      "gamma-image-2-5-sunburst-text",
      "delta-Image",
    ]);
    expect(OPENAI_MATRIX.map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  });

  it("is OpenAI's own, and no other server's", () => {
    const table = { matrix: OPENAI_MATRIX, default: "gpt-image-2" };
    expect(modelsAt({ url: "https://api.openai.com/v1" })).toEqual(table);
    expect(modelsAt({ url: "https://openai.example/v1" })).toBeNull();
  });

  it("has no prices, and ratios that each model can make", () => {
    expect(OPENAI_MATRIX.every(({ credits }) => credits === null)).toBe(true);
    const ratios = OPENAI_MATRIX.find(({ id }) => id === "gpt-image-2")?.ratios;
    expect(ratios).toContain("3:1");
    expect(ratios).not.toContain("8:1");
  });
});
