import { describe, expect, it } from "vitest";
import { CANARY } from "../../support/canary.ts";
import { PICTURE } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { type Behaviour, json, response } from "../../support/scripted-server.ts";
import { DATA_REFERENCE, fileReference } from "../job.ts";
import { BASE64, bodies, expectPicture, failing, made, ONE_IMAGE, scriptedOpenAi } from "./openai-world.ts";

// A double for each OpenAI-compatible server that is known to differ: it takes what the real one takes, and answers as it
// does. The table of them is in `.github/docs/generators.md`. How each says an error: ../failed-reply.test.ts.

/** An image that is to be had from a server. */
async function urlReference() {
  const { origin } = await liveServer(response(200, PICTURE));
  return { url: `${origin}/fox.png` };
}

/** The names of a multipart form's fields, as they are in the body. */
function formFields(body: string): string[] {
  return [...body.matchAll(/; name="([^"]*)"/g)].map(([, name = ""]) => name);
}

describe("Azure OpenAI", () => {
  const azure: Behaviour = ({ headers, body }, socket) => {
    const { model } = JSON.parse(body);
    if (headers["api-key"] !== CANARY) socket.write(json({ error: { message: "Access denied" } }, 401));
    else if (model !== "my-deployment") socket.write(json({ error: { code: "DeploymentNotFound" } }, 404));
    else socket.write(json(ONE_IMAGE));
  };

  it("gets its own header for the key, and a deployment as the model", async () => {
    const { generator } = await scriptedOpenAi(azure, { headers: { "api-key": CANARY } });
    await expectPicture(generator, { model: "my-deployment" });
  });
});

describe("stable-diffusion.cpp's sd-server", () => {
  it("gets one reference image as `image`, several as `image[]`, and the fields beside them as text", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE);
    const file = await fileReference();
    const url = await urlReference();
    await expectPicture(generator, { references: [file], fields: { strength: 0.5 } });
    for (const references of [[url], [file, file], [file, url]])
      await expectPicture(generator, { references });
    const [one] = server.submits();
    expect(one?.target).toBe("/v1/images/edits");
    expect(one?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    expect(one?.body).toContain("image/png");
    const [first, ...others] = server.submits().map(({ body }) => formFields(body));
    expect(first).toEqual(["prompt", "size", "response_format", "strength", "image"]);
    const images = others.map((names) => names.filter((name) => name.startsWith("image")));
    expect(images).toEqual([["image"], ["image[]", "image[]"], ["image[]", "image[]"]]);
  });

  it("never gets a reference image that it would skip without a word", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE);
    const page = await liveServer(response(200, "<html>"));
    const references = [{ url: `${page.origin}/fox.png` }];
    expect((await failing(generator, { references })).what).toBe("invalid_request");
    expect(server.requests).toEqual([]);
  });
});

describe("LocalAI", () => {
  const localAi: Behaviour = ({ method, target, body, headers }, socket) => {
    if (target === "/v1/models/capabilities") socket.write(json({ object: "list", data: [{ id: "flux" }] }));
    else if (target === "/v1/images/edits")
      socket.write(json({ error: { code: 404, message: "Not Found", type: "" } }, 404));
    else if (method === "GET") socket.write(response(200, PICTURE, { "content-type": "image/png" }));
    else if (JSON.parse(body).model === undefined)
      socket.write(json({ error: { code: 500, message: "no model specified", type: "" } }, 500));
    else socket.write(json({ data: [{ url: `http://${headers.host}/generated-images/b64.png` }] }));
  };

  it("answers with a URL of its own", async () => {
    const { server, generator } = await scriptedOpenAi(localAi);
    const { images } = await made(generator, { model: "flux" });
    expect(images).toEqual([{ kind: "url", url: `${server.origin}/generated-images/b64.png`, headers: {} }]);
  });

  it("gets reference images in the usual request, as it has no other", async () => {
    const { server, generator } = await scriptedOpenAi(localAi);
    const [file, url] = [await fileReference(), await urlReference()];
    for (const references of [[file], [file], [file, file, url]])
      await made(generator, { model: "flux", references });
    const targets = server.submits().map(({ target }) => target.replace("/v1/images/", ""));
    expect(targets).toEqual(["edits", "generations", "generations", "generations"]);
    const [first, , last] = server
      .submits()
      .slice(1)
      .map(({ body }) => JSON.parse(body).ref_images);
    expect([first, last]).toEqual([[BASE64], [BASE64, BASE64, url.url]]);
  });

  it("is waited for while a model loads", async () => {
    const loading = response(503, "", { "retry-after": "20" });
    const free = await failing((await scriptedOpenAi(loading)).generator);
    expect(free.reply).toMatchObject({ outcome: "rate_limited", retryAfterMs: 20_000 });
    expect((await failing((await scriptedOpenAi(loading, { isPaid: true })).generator)).what).toBe("unknown");
  });
});

it("another server without edits makes no picture without the reference images", async () => {
  const { server, generator } = await scriptedOpenAi(({ target }, socket) => {
    socket.write(target === "/v1/images/generations" ? json(ONE_IMAGE) : response(404, "404 page not found"));
  });
  const { what } = await failing(generator, { references: [await fileReference()] });
  expect(what).toBe("invalid_request");
  expect(server.submits()).toHaveLength(1);
});

describe("xAI", () => {
  const XAI = { as: "https://api.x.ai/v1", key: CANARY, isPaid: true };
  const wide = { ratio: "16:9", quality: "2K", width: 2048, height: 1152, model: "grok-imagine-image" };

  it("gets a ratio and a resolution, and no size", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, XAI);
    await expectPicture(generator, wide);
    const size = { aspect_ratio: "16:9", resolution: "2k" };
    const rest = { model: "grok-imagine-image", prompt: "a red fox", response_format: "b64_json" };
    expect(bodies(server)).toEqual([{ ...rest, ...size }]);
  });

  it("gets one reference image as `image`, several as `images`", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, XAI);
    const file = await fileReference();
    for (const references of [[file], [file, file]]) await expectPicture(generator, { ...wide, references });
    expect(server.submits().map(({ target }) => target)).toEqual(["/v1/images/edits", "/v1/images/edits"]);
    const { url } = DATA_REFERENCE;
    expect(bodies(server)).toMatchObject([{ image: { url } }, { images: [{ url }, { url }] }]);
  });
});

describe("Together", () => {
  const TOGETHER = { as: "https://api.together.xyz/v1", key: CANARY, isPaid: true };

  it("gets width and height, and base64 under a name of its own", async () => {
    const answer = { data: [{ index: 0, b64_json: BASE64 }] };
    const { server, generator } = await scriptedOpenAi(answer, TOGETHER);
    await expectPicture(generator, { model: "black-forest-labs/FLUX.1-schnell" });
    expect(bodies(server)[0]).toMatchObject({ width: 64, height: 48, response_format: "base64" });
    expect(bodies(server)[0]).not.toHaveProperty("size");
  });

  it("gets reference images in the usual request", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, TOGETHER);
    const [elsewhere, file] = [{ url: "https://example.com/1.png" }, await fileReference()];
    for (const references of [[elsewhere], [file], [file, elsewhere]])
      await expectPicture(generator, { references });
    expect(server.submits()[0]?.target).toBe("/v1/images/generations");
    const { url } = DATA_REFERENCE;
    expect(bodies(server)).toMatchObject([
      { image_url: elsewhere.url },
      { image_url: url },
      { reference_images: [url, elsewhere.url] },
    ]);
  });
});

describe("a size", () => {
  it("is sent as the user says", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, { sizeForm: "width,height" });
    await expectPicture(generator);
    expect(bodies(server)[0]).toMatchObject({ width: 64, height: 48 });
  });
});
