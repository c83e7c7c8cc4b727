import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { Job } from "../../../src/providers/provider.ts";
import { CANARY } from "../../support/canary.ts";
import { PICTURE } from "../../support/images.ts";
import { liveServer } from "../../support/live-server.ts";
import { type Behaviour, json, response } from "../../support/scripted-server.ts";
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

// A double for each OpenAI-compatible server that is known to differ: it takes what the real one takes, and answers as it
// does. The table of them is in `.github/docs/generators.md`. How each says an error: ../failed-reply.test.ts.

async function references(...names: string[]): Promise<Job["references"]> {
  const folder = await temporaryFolder();
  return Promise.all(
    names.map(async (name) => {
      const file = path.join(folder, name);
      await writeFile(file, PICTURE);
      return { file, mediaType: "image/png" };
    }),
  );
}

/** The names of a multipart form's fields, as they are in the body. */
function formFields(body: string): string[] {
  return [...body.matchAll(/; name="([^"]*)"/g)].map(([, name = ""]) => name);
}

describe("Azure OpenAI", () => {
  const azure: Behaviour = ({ headers, body }, socket) => {
    const { model, response_format } = JSON.parse(body);
    if (headers["api-key"] !== CANARY)
      socket.write(json({ error: { code: "401", message: "Access denied" } }, 401));
    else if (response_format !== undefined)
      socket.write(
        json(
          {
            error: { code: null, message: "Unknown parameter: 'response_format'.", param: "response_format" },
          },
          400,
        ),
      );
    else if (model !== "my-deployment")
      socket.write(json({ error: { code: "DeploymentNotFound", message: "No such deployment." } }, 404));
    else socket.write(json(ONE_IMAGE));
  };

  it("gets its own header for the key, and a deployment as the model", async () => {
    const { generator } = await scriptedOpenAi(azure, { headers: { "api-key": CANARY } });
    await expectPicture(generator, { model: "my-deployment" });
  });

  it("says which models there are where it is asked for a deployment that it does not have", async () => {
    const { generator } = await scriptedOpenAi(
      (request, socket) =>
        request.method === "GET"
          ? void socket.write(json({ data: [{ id: "my-deployment" }] }))
          : azure(request, socket),
      { headers: { "api-key": CANARY } },
    );
    const { message, what, hint } = await failing(generator, { model: "gpt-image-2" });
    expect(what).toBe("invalid_request");
    expect(message).toContain("No such deployment");
    expect(hint).toBe("Nothing was charged. Its models: my-deployment");
  });
});

describe("stable-diffusion.cpp's sd-server", () => {
  it("answers with its output format beside the image", async () => {
    const { generator } = await scriptedOpenAi(
      answering({ created: 1, output_format: "png", data: [{ b64_json: BASE64 }] }),
    );
    await expectPicture(generator);
  });

  it("gets one reference image as `image`, several as `image[]`, and the fields beside them as text", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
    await expectPicture(generator, { references: await references("1.png"), fields: { strength: 0.5 } });
    await expectPicture(generator, { references: await references("1.png", "2.png") });
    const [one, several] = server.submits();
    expect(one?.target).toBe("/v1/images/edits");
    expect(one?.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/);
    expect(formFields(one?.body ?? "")).toEqual(["prompt", "size", "response_format", "strength", "image"]);
    expect(one?.body).toContain("image/png");
    expect(formFields(several?.body ?? "").slice(-2)).toEqual(["image[]", "image[]"]);
  });

  it("never gets a reference image that it would skip without a word", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
    const page = await liveServer((_request, socket) => void socket.write(response(200, "<html>")));
    const { what } = await failing(generator, { references: [{ url: `${page.origin}/fox.png` }] });
    expect(what).toBe("invalid_request");
    expect(server.requests).toEqual([]);
  });

  it("gets a file beside a URL, both as files", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
    const images = await liveServer((_request, socket) => void socket.write(response(200, PICTURE)));
    const url = `${images.origin}/fox.png`;
    await expectPicture(generator, { references: [...(await references("1.png")), { url }] });
    expect(formFields(server.submits()[0]?.body ?? "").slice(-2)).toEqual(["image[]", "image[]"]);
  });

  it("gets a reference image of a URL as a file", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
    const images = await liveServer((_request, socket) => void socket.write(response(200, PICTURE)));
    await expectPicture(generator, { references: [{ url: `${images.origin}/fox.png` }] });
    expect(formFields(server.submits()[0]?.body ?? "")).toContain("image");
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
    for (let time = 0; time < 2; time++)
      await made(generator, { model: "flux", references: await references("1.png") });
    expect(server.submits().map(({ target }) => target)).toEqual([
      "/v1/images/edits",
      "/v1/images/generations",
      "/v1/images/generations",
    ]);
    expect(JSON.parse(server.submits()[1]?.body ?? "")).toMatchObject({ ref_images: [BASE64] });
    const images = await liveServer((_request, socket) => void socket.write(response(200, PICTURE)));
    const url = `${images.origin}/fox.png`;
    await made(generator, { model: "flux", references: [...(await references("1.png", "2.png")), { url }] });
    expect(JSON.parse(server.submits()[3]?.body ?? "")).toMatchObject({ ref_images: [BASE64, BASE64, url] });
  });

  it("is waited for while a model loads", async () => {
    const loading = response(503, "", { "retry-after": "20" });
    const free = await scriptedOpenAi((_request, socket) => void socket.write(loading));
    expect((await failing(free.generator)).reply).toMatchObject({
      outcome: "rate_limited",
      retryAfterMs: 20_000,
    });
    const paid = await scriptedOpenAi((_request, socket) => void socket.write(loading), { isPaid: true });
    expect((await failing(paid.generator)).what).toBe("unknown");
  });
});

it("another server without edits makes no picture without the reference images", async () => {
  const { server, generator } = await scriptedOpenAi(({ target }, socket) => {
    socket.write(target === "/v1/images/generations" ? json(ONE_IMAGE) : response(404, "404 page not found"));
  });
  const { what } = await failing(generator, { references: await references("1.png") });
  expect(what).toBe("invalid_request");
  expect(server.submits()).toHaveLength(1);
});

describe("Ollama", () => {
  it("gets a model, a prompt, a size and base64 as the format", async () => {
    const { server, generator } = await scriptedOpenAi(
      answering({ created: 1, data: [{ b64_json: BASE64 }] }),
    );
    await expectPicture(generator, { model: "x/z-image-turbo" });
    expect(Object.keys(bodies(server)[0] ?? {})).toEqual(["model", "prompt", "size", "response_format"]);
  });
});

describe("xAI", () => {
  const XAI = { as: "https://api.x.ai/v1", key: CANARY, isPaid: true };
  const wide = { ratio: "16:9", quality: "2K", width: 2048, height: 1152, model: "grok-imagine-image" };

  it("gets a ratio and a resolution, and no size", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), XAI);
    await expectPicture(generator, wide);
    expect(bodies(server)).toEqual([
      {
        model: "grok-imagine-image",
        prompt: "a red fox",
        aspect_ratio: "16:9",
        resolution: "2k",
        response_format: "b64_json",
      },
    ]);
  });

  it("gets one reference image as `image`, several as `images`", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), XAI);
    await expectPicture(generator, { ...wide, references: await references("1.png") });
    await expectPicture(generator, { ...wide, references: await references("1.png", "2.png") });
    const url = `data:image/png;base64,${BASE64}`;
    expect(server.submits().map(({ target }) => target)).toEqual(["/v1/images/edits", "/v1/images/edits"]);
    expect(bodies(server)[0]).toMatchObject({ image: { url } });
    expect(bodies(server)[1]).toMatchObject({ images: [{ url }, { url }] });
  });
});

describe("Together", () => {
  const TOGETHER = { as: "https://api.together.xyz/v1", key: CANARY, isPaid: true };

  it("gets width and height, and base64 under a name of its own", async () => {
    const { server, generator } = await scriptedOpenAi(
      answering({ data: [{ index: 0, b64_json: BASE64 }] }),
      TOGETHER,
    );
    await expectPicture(generator, { model: "black-forest-labs/FLUX.1-schnell" });
    expect(bodies(server)[0]).toMatchObject({ width: 64, height: 48, response_format: "base64" });
    expect(bodies(server)[0]).not.toHaveProperty("size");
  });

  it("gets reference images in the usual request", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), TOGETHER);
    await expectPicture(generator, { references: [{ url: "https://example.com/1.png" }] });
    expect(server.submits()[0]?.target).toBe("/v1/images/generations");
    expect(bodies(server)[0]).toMatchObject({ image_url: "https://example.com/1.png" });
    const url = `data:image/png;base64,${BASE64}`;
    await expectPicture(generator, { references: await references("1.png") });
    expect(bodies(server)[1]).toMatchObject({ image_url: url });
    await expectPicture(generator, {
      references: [...(await references("1.png")), { url: "https://example.com/1.png" }],
    });
    expect(bodies(server)[2]).toMatchObject({ reference_images: [url, "https://example.com/1.png"] });
  });
});

describe("a size", () => {
  it("is sent as the user says", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), { sizeForm: "width,height" });
    await expectPicture(generator);
    expect(bodies(server)[0]).toMatchObject({ width: 64, height: 48 });
  });
});
