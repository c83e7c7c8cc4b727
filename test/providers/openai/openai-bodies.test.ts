import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { MODELS } from "../../../src/models/matrix.ts";
import { modelsAt, OPENAI_MATRIX, openAiName } from "../../../src/providers/openai/server-forms.ts";
import { CANARY } from "../../support/canary.ts";
import { PICTURE, png } from "../../support/images.ts";
import { json, response } from "../../support/scripted-server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import {
  answering,
  BASE64,
  bodies,
  expectPicture,
  failing,
  made,
  ONE_IMAGE,
  scriptedOpenAi,
} from "./openai-world.ts";
import { expectPublished } from "./published-fields.ts";

const OPENAI = { as: "https://api.openai.com/v1", key: CANARY, isPaid: true };

const event = (data: object): string => `event: message\ndata: ${JSON.stringify(data)}\n\n`;
const stream = (...events: object[]): Buffer =>
  response(200, events.map(event).join(""), { "content-type": "text/event-stream; charset=utf-8" });

const COMPLETED = { type: "image_generation.completed", b64_json: BASE64, usage: { total_tokens: 7 } };

describe("a request to OpenAI", () => {
  it.each(OPENAI_MATRIX.map(({ id }) => id))("for %s has its published fields alone", async (model) => {
    const { server, generator } = await scriptedOpenAi(
      (_request, socket) => void socket.write(stream(COMPLETED)),
      OPENAI,
    );
    for (const [width, height] of [
      [1024, 1024],
      [4096, 2304],
      [341, 1024],
    ] as const) {
      await expectPicture(generator, { model, width, height });
    }
    for (const body of bodies(server)) expectPublished(body, "generations");
    expect(server.requests[0]?.headers).toMatchObject({
      authorization: `Bearer ${CANARY}`,
      "x-client-request-id": "task_1",
      "content-type": "application/json",
    });
  });

  it("for a model of the service asks for the one that fits it, and without a model for the default", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), OPENAI);
    await expectPicture(generator, { model: "gamma-image-2-5-flare-text" });
    await expectPicture(generator, { model: null });
    expect(bodies(server).map(({ model }) => model)).toEqual(["gpt-image-2.5-flare", "gpt-image-2"]);
  });

  it("sends reference images as URLs, those of this disk as data", async () => {
    const file = path.join(await temporaryFolder(), "fox.png");
    await writeFile(file, PICTURE);
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), OPENAI);
    const references = [{ file, mediaType: "image/png" }, { url: "https://example.com/1.webp" }];
    await expectPicture(generator, { model: "gpt-image-2", references, width: 1024, height: 1024 });
    expect(server.requests[0]?.target).toBe("/v1/images/edits");
    const [body = {}] = bodies(server);
    expectPublished(body, "edits");
    expect(body.images).toEqual([
      { image_url: `data:image/png;base64,${BASE64}` },
      { image_url: "https://example.com/1.webp" },
    ]);
  });

  it("is not sent where a reference image is gone from the disk", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), OPENAI);
    const { message, what } = await failing(generator, {
      references: [{ file: "/nowhere/fox.png", mediaType: "image/png" }],
    });
    expect(what).toBe("invalid_request");
    expect(message).toContain("no such file");
    expect(server.requests).toEqual([]);
  });
});

describe("a stream from OpenAI", () => {
  it("is what it asks for, and ends with the image and its usage", async () => {
    const { server, generator } = await scriptedOpenAi(
      (_request, socket) =>
        void socket.write(stream({ type: "image_generation.partial_image", b64_json: "AAAA" }, COMPLETED)),
      OPENAI,
    );
    const { usage } = await expectPicture(generator);
    expect(usage).toEqual({ total_tokens: 7 });
    expect(bodies(server)[0]).toMatchObject({ stream: true, partial_images: 0 });
  });

  it("may have other line ends, and comments", async () => {
    const text = `: hello\r\n\r\nevent: image_edit.completed\r\ndata: ${JSON.stringify(COMPLETED)}\r\n\r\ndata: [DONE]\r\n\r\n`;
    const { generator } = await scriptedOpenAi(
      (_request, socket) => void socket.write(response(200, text, { "content-type": "text/event-stream" })),
      OPENAI,
    );
    await expectPicture(generator);
  });

  it("may hold several images", async () => {
    const second = { type: COMPLETED.type, b64_json: png(1).toString("base64") };
    const { generator } = await scriptedOpenAi(
      (_request, socket) => void socket.write(stream(COMPLETED, second)),
      OPENAI,
    );
    const { images, usage } = await made(generator);
    expect(images).toEqual([PICTURE, png(1)].map((bytes) => ({ kind: "bytes", bytes })));
    expect(usage).toEqual({ total_tokens: 7 });
  });

  it("that ends without the image may have cost it", async () => {
    const { generator } = await scriptedOpenAi(
      (_request, socket) =>
        void socket.write(stream({ type: "image_generation.partial_image", b64_json: "AAAA" })),
      OPENAI,
    );
    expect(await failing(generator)).toMatchObject({ what: "unknown" });
  });

  it("that ends with an error says which", async () => {
    const error = { type: "error", error: { code: "moderation_blocked", message: "Rejected." } };
    const { generator } = await scriptedOpenAi(
      (_request, socket) => void socket.write(stream(error)),
      OPENAI,
    );
    const { message, what } = await failing(generator);
    expect(what).toBe("generation_failed");
    expect(message).toContain("Rejected");
  });

  it("is not asked for again of a model that refuses to stream", async () => {
    const refusal = {
      error: { message: "Your organization must be verified to stream this model.", param: "stream" },
    };
    const { server, generator } = await scriptedOpenAi(
      ({ body }, socket) => void socket.write(body.includes("stream") ? json(refusal, 400) : json(ONE_IMAGE)),
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
    expect(modelsAt({ url: "https://api.openai.com/v1" })).toEqual({
      matrix: OPENAI_MATRIX,
      default: "gpt-image-2",
    });
    expect(modelsAt({ url: "https://openai.example/v1" })).toBeNull();
  });

  it("has no prices, and ratios that each model can make", () => {
    expect(OPENAI_MATRIX.every(({ credits }) => credits === null)).toBe(true);
    const ratios = OPENAI_MATRIX.find(({ id }) => id === "gpt-image-2")?.ratios;
    expect(ratios).toContain("3:1");
    expect(ratios).not.toContain("8:1");
  });
});
