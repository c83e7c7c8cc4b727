import { mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { describe, expect, it } from "vitest";
import { answers } from "../support/doubles/double.ts";
import { FLUX_INPUTS, modelReply, REPLICATE } from "../support/doubles/replicate.ts";

import { liveServer } from "../support/live-server.ts";
import { json } from "../support/scripted-server.ts";
import { DATA_REFERENCE } from "./job.ts";
import { KEY, serviceWorld } from "./service-world.ts";

/** A service whose model has these inputs. */
function withInputs(properties: object) {
  return serviceWorld(REPLICATE, { model: modelReply(properties) });
}

describe("a request", () => {
  it("goes to its model, with its key, and as the model's inputs say", async () => {
    const { double, submit, bodies } = await serviceWorld(REPLICATE);
    const { reply } = await submit({ ratio: "16:9", fields: { seed: 7 } });
    expect(reply).toEqual({ outcome: "accepted", taskId: "pred-1" });
    const [request] = double.submits();
    expect(request).toMatchObject({
      target: "/v1/models/black-forest-labs/flux-schnell/predictions",
      headers: { authorization: `Bearer ${KEY}`, "x-client-request-id": "task_1" },
    });
    expect(bodies()).toEqual([{ input: { prompt: "a red fox", aspect_ratio: "16:9", seed: 7 } }]);
  });

  it("of a version goes to /predictions with it", async () => {
    const { double, submit, bodies } = await serviceWorld(REPLICATE, { model: json({ detail: "no" }, 404) });
    await submit({ model: "ada/fox:5c7d5dc6" });
    expect(double.submits()[0]?.target).toBe("/v1/predictions");
    expect(double.asked("model")[0]?.target).toBe("/v1/models/ada/fox/versions/5c7d5dc6");
    expect(bodies()).toEqual([{ version: "5c7d5dc6", input: { prompt: "a red fox" } }]);
  });

  it("leaves an input out that its model does not have, and says so", async () => {
    const { submit, bodies } = await serviceWorld(REPLICATE);
    const { warnings } = await submit({ quality: "2K", fields: { steps: 4, seed: 7 } });
    expect(bodies()).toEqual([{ input: { prompt: "a red fox", seed: 7 } }]);
    expect(warnings).toEqual([
      "Fields not sent, because black-forest-labs/flux-schnell has no such input: steps.",
      "black-forest-labs/flux-schnell has no input for the quality 2K, so the quality was not sent.",
    ]);
  });

  it("is refused before it is sent where its model has no input for a negative prompt", async () => {
    const { submit, double } = await serviceWorld(REPLICATE);
    const message = "black-forest-labs/flux-schnell has no input negative_prompt.";
    const negative = { negative: "rain", fields: { negative_prompt: "rain" } };
    expect((await submit(negative)).reply).toMatchObject({ outcome: "refused", error: { message } });
    expect(double.submits()).toEqual([]);
  });

  it.each([
    ["no ratios", {}, {}],
    ["no such ratio", { aspect_ratio: { enum: ["1:1", "custom"] } }, { aspect_ratio: "custom" }],
  ])("is sent in pixels to a model that knows %s", async (_what, inputs, more) => {
    const pixels = { prompt: {}, width: { type: "integer" }, height: { type: "integer" } };
    const { submit, bodies } = await withInputs({ ...pixels, ...inputs });
    await submit({ ratio: "16:9", width: 1024, height: 576 });
    expect(bodies()[0].input).toEqual({ prompt: "a red fox", width: 1024, height: 576, ...more });
  });

  it("is not sent where its model has no such ratio", async () => {
    const { double, submit } = await serviceWorld(REPLICATE);
    const message = "black-forest-labs/flux-schnell has no ratio 21:9. It has: 1:1, 16:9, 3:2.";
    expect(await submit({ ratio: "21:9" })).toMatchObject({ what: "invalid_request", message });
    expect(double.submits()).toEqual([]);
    const without = await withInputs({ ...FLUX_INPUTS, aspect_ratio: { enum: [], type: "string" } });
    expect((await without.submit({ ratio: "21:9" })).message).toMatch(/ has no ratio 21:9\. It has none\.$/);
  });

  it("names a quality in the input that has it", async () => {
    const { submit, bodies } = await withInputs({ prompt: {}, resolution: { enum: ["1K", "2K"] } });
    await submit({ quality: "2K" });
    expect(bodies()[0].input).toEqual({ prompt: "a red fox", resolution: "2K" });
  });

  it.each([
    [{ input_image: { type: "string" } }, { input_image: DATA_REFERENCE.url }],
    [{ image: { type: "string" } }, { image: DATA_REFERENCE.url }],
    [{ image_input: { type: "array" } }, { image_input: [DATA_REFERENCE.url] }],
    [{ reference_images: { type: "array" } }, { reference_images: [DATA_REFERENCE.url] }],
    [{ init_image: { type: "string" }, mask: { format: "uri" } }, { init_image: DATA_REFERENCE.url }],
    [{ photo: { type: "string", format: "uri" } }, { photo: DATA_REFERENCE.url }],
    [
      { photos: { type: "array", items: { type: "string", format: "uri" } } },
      { photos: [DATA_REFERENCE.url] },
    ],
  ])("holds a reference image as its model takes it: %j", async (inputs, sent) => {
    const { submit, bodies } = await withInputs({ prompt: {}, ...inputs });
    await submit({ references: [DATA_REFERENCE] });
    expect(bodies()[0].input).toEqual({ prompt: "a red fox", ...sent });
  });

  it.each([
    [FLUX_INPUTS, "does not support reference images."],
    [{ image: { type: "string" } }, "supports one reference image, not 2."],
  ])("is not sent with more reference images than its model takes", async (inputs, why) => {
    const { double, submit } = await withInputs(inputs);
    expect((await submit({ references: [DATA_REFERENCE, DATA_REFERENCE] })).message).toContain(why);
    expect(double.submits()).toEqual([]);
  });

  it("is not sent where two inputs could be for the image, which are both named", async () => {
    const inputs = { photo: { format: "uri" }, garment: { format: "uri" } };
    const { double, submit, bodies } = await withInputs({ prompt: {}, ...inputs });
    expect((await submit({ references: [DATA_REFERENCE] })).message).toContain(
      "has several inputs for images, photo and garment: set one with the field photo=<url>.",
    );
    expect(double.submits()).toEqual([]);
    await submit({ fields: { photo: "https://a.example/1.png", garment: "https://a.example/2.png" } });
    expect(bodies()[0].input).toMatchObject({ photo: "https://a.example/1.png" });
  });

  it("is not sent if a field has set the only input for an image, which is named", async () => {
    const { double, submit } = await withInputs({ prompt: {}, photo: { format: "uri" } });
    const fields = { photo: "https://a.example/1.png" };
    expect((await submit({ fields, references: [DATA_REFERENCE] })).message).toContain(
      "A field already sets photo, which black-forest-labs/flux-schnell uses for reference images. Remove the field or the reference images.",
    );
    expect(double.submits()).toEqual([]);
  });

  it("names a ratio alone where the model's inputs cannot be had", async () => {
    const { submit, bodies } = await serviceWorld(REPLICATE, { model: json({ detail: "busy" }, 503) });
    await submit({ ratio: "16:9", fields: { steps: 4 } });
    await submit();
    expect(bodies().map(({ input }) => input)).toEqual([
      { prompt: "a red fox", aspect_ratio: "16:9", steps: 4 },
      { prompt: "a red fox" },
    ]);
  });

  it("asks for a model's inputs once a day", async () => {
    const cacheFolder = await mkdtemp(`${tmpdir()}/imggen-`);
    const { double, submit } = await serviceWorld(REPLICATE, {}, {}, { cacheFolder });
    await submit();
    await submit();
    expect(double.asked("model")).toHaveLength(1);
    expect(await readdir(cacheFolder)).toHaveLength(1);
  });

  it.each([null, "flux", "a/b/c", "../admin/x", "a/b:c d"])("is refused for a model %j", async (model) => {
    const { provider } = await serviceWorld(REPLICATE);
    const options = { model, width: 64, height: 64, sizeForm: null, fields: {} };
    const request = { prompt: "a fox", model: "m" };
    expect(provider.check?.({ request, isPaid: true, options, references: [] })).toMatch(/owner\/name/);
  });
});

const ELSEWHERE = ["https://evil.example/v1/predictions/abc", "http://127.0.0.1:1/x", "file:///etc/passwd"];

describe("a job", () => {
  it("is polled at the address that the service gave, until it has an image", async () => {
    const { submit, state } = await serviceWorld(REPLICATE);
    await submit();
    expect(await state("pred-1")).toEqual({
      status: "completed",
      urls: [expect.stringMatching(/\/files\/image-1\.png/)],
      usage: { predict_time: 1.5 },
    });
  });

  it("at another path is recorded with its address", async () => {
    const submitted = answers((origin) => json({ id: "abc", urls: { get: `${origin}/v2/jobs/abc?a=1` } }));
    const { accepted, double, state } = await serviceWorld(REPLICATE, { submit: submitted });
    const id = await accepted();
    expect(id).toBe(`${double.origin}/v2/jobs/abc?a=1`);
    await state(id);
    expect(double.requests.at(-1)).toMatchObject({
      target: "/v2/jobs/abc?a=1",
      headers: { authorization: `Bearer ${KEY}` },
    });
  });

  it.each([...ELSEWHERE, "/v1/predictions/abc", "", 7, null])(
    "whose address is given as %j is polled by its id, and the key goes to no other host",
    async (get) => {
      const { accepted, poll, double } = await serviceWorld(REPLICATE, {
        submit: json({ id: "abc", urls: { get } }),
      });
      expect(await accepted()).toBe("abc");
      await poll("abc");
      expect(double.requests.at(-1)?.target).toBe("/v1/predictions/abc");
    },
  );

  it.each(ELSEWHERE)("is not polled at %s, should its record name that", async (id) => {
    const { poll, double } = await serviceWorld(REPLICATE);
    expect(await poll(id)).toMatchObject({ outcome: "refused", error: { type: "invalid_request" } });
    expect(double.requests).toEqual([]);
  });

  it("whose address is another server's is never asked for there", async () => {
    const other = await liveServer(json({ status: "succeeded" }));
    const get = `${other.origin}/v1/predictions/abc`;
    const { accepted, state, cancel, double } = await serviceWorld(REPLICATE, {
      submit: json({ id: "abc", urls: { get, cancel: `${get}/cancel` } }),
      poll: json({ id: "abc", status: "processing", urls: { get, cancel: `${get}/cancel` } }),
    });
    const id = await accepted();
    expect(await state(id)).toMatchObject({ status: "running" });
    expect(await cancel(id)).toBeNull();
    expect(other.requests).toEqual([]);
    expect(double.asked("poll").length).toBeGreaterThan(0);
  });

  it.each([
    ["failed", "out of memory"],
    ["moderated", "NSFW content detected"],
  ] as const)("that has %s ends with the service's words", async (end, words) => {
    const { state } = await serviceWorld(REPLICATE, {
      poll: answers(REPLICATE.ends?.[end].poll ?? (() => json({}))),
    });
    expect(await state("pred-1")).toEqual({
      status: "failed",
      errorCode: null,
      why: expect.stringMatching(new RegExp(`says: ${words}\\.$`)),
    });
  });

  it("is cancelled where the service says that it is", async () => {
    const { cancel, double } = await serviceWorld(REPLICATE);
    expect(await cancel("pred-1")).toBe(true);
    expect(double.asked("cancel")[0]?.target).toBe("/v1/predictions/pred-1/cancel");
    const refusing = await serviceWorld(REPLICATE, { cancel: json({ detail: "done" }, 409) });
    expect(await refusing.cancel("pred-1")).toBe(false);
    expect(await refusing.cancel("https://evil.example/x")).toBeNull();
  });
});
