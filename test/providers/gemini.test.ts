import { describe, expect, it } from "vitest";
import { GEMINI, geminiAnswer, withoutImage } from "../support/doubles/gemini.ts";
import { PICTURE } from "../support/images.ts";
import { json } from "../support/scripted-server.ts";
import { KEY, serviceWorld } from "./service-world.ts";

const DATA = PICTURE.toString("base64");

describe("a request", () => {
  it("holds the prompt, the images, the ratio and the size in Gemini's form, and the key in its header", async () => {
    const { double, submit, bodies } = await serviceWorld(GEMINI);
    const reference = { url: `data:image/png;base64,${DATA}` };
    await submit({ ratio: "16:9", quality: "2K", references: [reference], fields: { seed: 7 } });
    expect(double.submits()[0]).toMatchObject({
      target: "/v1beta/models/gemini-3-pro-image:generateContent",
      headers: { "x-goog-api-key": KEY },
    });
    expect(bodies()).toEqual([
      {
        contents: [
          {
            role: "user",
            parts: [{ text: "a red fox" }, { inlineData: { mimeType: "image/png", data: DATA } }],
          },
        ],
        generationConfig: {
          responseModalities: ["IMAGE"],
          imageConfig: { aspectRatio: "16:9", imageSize: "2K" },
          seed: 7,
        },
      },
    ]);
  });

  it("names no size to a model that takes none, and no ratio where none was asked for", async () => {
    const { submit, bodies } = await serviceWorld(GEMINI);
    await submit({ model: "models/gemini-2.5-flash-image", quality: "2K" });
    expect(bodies()[0].generationConfig).toEqual({ responseModalities: ["IMAGE"] });
  });
});

describe("an answer", () => {
  it("holds the image, which none of the model's thoughts is, and what it took", async () => {
    const { submit, provider } = await serviceWorld(GEMINI);
    const { job, reply } = await submit();
    expect(reply).toEqual({ outcome: "made", usage: { totalTokenCount: 1300 } });
    expect(await provider.images?.(job)).toEqual([{ kind: "bytes", bytes: PICTURE }]);
  });

  it("holds the image, and what it took, in the names that gateways write", async () => {
    const parts = [{ inline_data: { mime_type: "image/png", data: `data:image/png;base64,${DATA}` } }];
    const said = { candidates: [{ content: { parts } }], usage_metadata: { total_token_count: 7 } };
    const { submit, provider } = await serviceWorld(GEMINI, { submit: json(said) });
    const { job, reply } = await submit();
    expect(reply).toEqual({ outcome: "made", usage: { total_token_count: 7 } });
    expect(await provider.images?.(job)).toEqual([{ kind: "bytes", bytes: PICTURE }]);
  });

  it.each(["IMAGE_SAFETY", "PROHIBITED_CONTENT", "SAFETY", "BLOCKLIST"])(
    "that ended with %s is a refusal in Gemini's words",
    async (reason) => {
      const { submit } = await serviceWorld(GEMINI, { submit: withoutImage(reason, "I cannot draw that.") });
      expect(await submit()).toMatchObject({
        what: "generation_failed",
        message: expect.stringContaining(`${reason}: I cannot draw that.`),
      });
    },
  );

  it("to a prompt that is blocked is a refusal", async () => {
    const blocked = { candidates: undefined, promptFeedback: { blockReason: "PROHIBITED_CONTENT" } };
    const { submit } = await serviceWorld(GEMINI, { submit: geminiAnswer(blocked) });
    expect(await submit()).toMatchObject({
      what: "generation_failed",
      message: expect.stringContaining("PROHIBITED_CONTENT"),
    });
  });

  it.each(["NO_IMAGE", "IMAGE_OTHER", "MAX_TOKENS", "STOP"])(
    "that ended with %s and has no image may have been charged",
    async (reason) => {
      const { submit } = await serviceWorld(GEMINI, { submit: withoutImage(reason) });
      expect(await submit()).toMatchObject({ what: "unknown", message: expect.stringContaining(reason) });
    },
  );

  it("that refuses the key with 400 is about the key", async () => {
    const { submit } = await serviceWorld(GEMINI, {
      submit: GEMINI.error(400, "API key not valid. Please pass a valid API key."),
    });
    expect(await submit()).toMatchObject({ what: "auth_required" });
  });

  it("that names a model it does not have lists those that make images", async () => {
    const { submit } = await serviceWorld(GEMINI, { submit: GEMINI.error(404, "models/nope is not found") });
    expect(await submit({ model: "nope" })).toMatchObject({
      what: "invalid_request",
      hint: "Nothing was charged. Available models: gemini-3-pro-image, gemini-2.5-flash-image",
    });
  });
});

it("lists the models that make images", async () => {
  const { provider, double } = await serviceWorld(GEMINI);
  expect(await provider.models?.(new AbortController().signal)).toEqual([
    "gemini-3-pro-image",
    "gemini-2.5-flash-image",
  ]);
  expect(double.requests[0]?.target).toBe("/v1beta/models?pageSize=1000");
});

it("has no list of models where the reply is none", async () => {
  const { provider } = await serviceWorld(GEMINI, { models: json({}) });
  expect(await provider.models?.(new AbortController().signal)).toBeNull();
});
