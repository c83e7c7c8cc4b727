import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { TimeLimitError } from "../../../src/providers/generator.ts";
import { CANARY } from "../../support/canary.ts";
import { PICTURE } from "../../support/images.ts";
import { deadPort, liveServer } from "../../support/live-server.ts";
import { json, response } from "../../support/scripted-server.ts";
import { ALONE, jobFor } from "../job.ts";
import {
  answering,
  BASE64,
  bodies,
  expectPicture,
  failing,
  ONE_IMAGE,
  openAiAt,
  scriptedOpenAi,
} from "./openai-world.ts";

const FORMAT_REFUSED = {
  error: { message: "Unknown parameter: 'response_format'.", param: "response_format" },
};

describe("a request", () => {
  it("says what the job does and the user asks, and nothing else", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
    const image = await expectPicture(generator, {
      model: "z-image",
      fields: { steps: 8, negative_prompt: "blur", tiled: true },
    });
    expect(image.usage).toEqual(ONE_IMAGE.usage);
    expect(bodies(server)).toEqual([
      {
        model: "z-image",
        prompt: "a red fox",
        size: "64x48",
        response_format: "b64_json",
        steps: 8,
        negative_prompt: "blur",
        tiled: true,
      },
    ]);
  });

  it("names no model where the job names none, and has no key where there is none", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
    await expectPicture(generator);
    expect(bodies(server)[0]).not.toHaveProperty("model");
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(server.requests[0]?.headers).not.toHaveProperty("x-client-request-id");
  });

  it("has a field of ours as the user sets it", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
    await expectPicture(generator, { fields: { response_format: "png_b64", size: "512x512" } });
    expect(bodies(server)[0]).toMatchObject({ response_format: "png_b64", size: "512x512" });
  });

  it.each(["gpt-image-2", "chatgpt-image-latest", "openai/gpt-image-1"])(
    "asks for no response format of %s, which refuses the field",
    async (model) => {
      const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE));
      await expectPicture(generator, { model });
      expect(bodies(server)[0]).not.toHaveProperty("response_format");
    },
  );

  it.each([400, 422])(
    "is sent again without a response format that the server names in a %i, and from then on never has one",
    async (status) => {
      const { server, generator } = await scriptedOpenAi(({ body }, socket) => {
        const refuses = body.includes("response_format");
        socket.write(refuses ? json(FORMAT_REFUSED, status) : json(ONE_IMAGE));
      });
      await expectPicture(generator, { model: "flux" });
      await expectPicture(generator, { model: "flux" });
      expect(bodies(server).map((body) => "response_format" in body)).toEqual([true, false, false]);
    },
  );

  it("is not sent again without a field that the user has set", async () => {
    const { server, generator } = await scriptedOpenAi(answering(FORMAT_REFUSED, 400));
    const { failure } = await failing(generator, { fields: { response_format: "url" } });
    expect(failure).toEqual({ kind: "refused" });
    expect(server.requests).toHaveLength(1);
  });

  it("keeps a query of the base, and has the user's headers", async () => {
    const server = await liveServer(answering(ONE_IMAGE));
    const generator = openAiAt(`${server.origin}/openai/v1?api-version=preview`, {
      headers: { "Api-Key": CANARY },
    });
    await expectPicture(generator);
    expect(server.requests[0]?.target).toBe("/openai/v1/images/generations?api-version=preview");
    expect(server.requests[0]?.headers).toMatchObject({ "api-key": CANARY });
  });
});

describe("an answer", () => {
  it.each<[string, unknown]>([
    ["base64", ONE_IMAGE],
    [
      "base64 with a line break in it",
      { data: [{ b64_json: `${BASE64.slice(0, 40)}\n${BASE64.slice(40)}` }] },
    ],
    ["a data: URL in place of base64", { data: [{ b64_json: `data:image/png;base64,${BASE64}` }] }],
    ["a data: URL", { data: [{ url: `data:image/png;base64,${BASE64}` }] }],
    ["an object in place of a list", { data: { b64_json: BASE64 } }],
    ["nothing before the image", { data: [null, {}, { b64_json: BASE64 }] }],
  ])("may be %s", async (_form, answer) => {
    const { generator } = await scriptedOpenAi(answering(answer));
    await expectPicture(generator);
  });

  it("may be the image itself", async () => {
    const { generator } = await scriptedOpenAi(
      (_request, socket) =>
        void socket.write(response(200, PICTURE, { "content-type": "application/octet-stream" })),
    );
    await expectPicture(generator);
  });

  it.each([
    ["absolute", (origin: string) => `${origin}/v1/images/7/content`],
    ["relative", () => "/v1/images/7/content"],
  ])("may be a URL that is %s, which gets the key of its own server", async (_form, urlAt) => {
    const { server, generator } = await scriptedOpenAi(
      ({ method, headers }, socket) =>
        void socket.write(
          method === "POST"
            ? json({ data: [{ url: urlAt(`http://${headers.host}`) }] })
            : response(200, PICTURE, { "content-type": "image/png" }),
        ),
      { key: CANARY },
    );
    await expectPicture(generator);
    expect(server.requests.map(({ target }) => target)).toEqual([
      "/v1/images/generations",
      "/v1/images/7/content",
    ]);
    expect(server.requests[1]?.headers.authorization).toBe(`Bearer ${CANARY}`);
  });

  it("may be a URL of another server, which gets no key, also after a redirect", async () => {
    const files = await liveServer(({ target }, socket) => {
      const again = response(302, "", { location: "/2" });
      socket.write(target === "/1" ? again : response(200, PICTURE, { "content-type": "image/png" }));
    });
    const { generator } = await scriptedOpenAi(answering({ data: [{ url: `${files.origin}/1` }] }), {
      key: CANARY,
    });
    await expectPicture(generator);
    expect(files.requests.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
  });

  it.each<[string, unknown, string]>([
    ["an empty list", { data: [] }, "without an image"],
    ["nothing in the list", { data: [null] }, "without an image"],
    ["no list", { created: 1 }, "without an image"],
    [
      "an image that moderation holds back",
      { data: [{ url: "/1.png", respect_moderation: false }] },
      "without",
    ],
    ["an error", { error: { message: "Blocked by the safety filter." } }, "Blocked by the safety filter."],
  ])("with %s is a refusal", async (_form, answer, said) => {
    const { server, generator } = await scriptedOpenAi(answering(answer), { isPaid: true });
    const { message, failure } = await failing(generator);
    expect(failure).toEqual({ kind: "refused" });
    expect(message).toContain(said);
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["a web page", "<html><title>Sign in</title></html>", "a page with the title “Sign in”"],
    ["other text", "upstream is gone", "upstream is gone"],
  ])(
    "with %s in place of JSON may have been paid for, and is a refusal of a free server",
    async (_form, body, said) => {
      const answer = (_request: unknown, socket: { write: (bytes: Buffer) => unknown }) =>
        void socket.write(response(200, body));
      const paid = await failing((await scriptedOpenAi(answer, { isPaid: true })).generator);
      expect(paid.failure).toEqual({ kind: "lost" });
      expect(paid.message).toContain(said);
      const free = await failing((await scriptedOpenAi(answer, { isPaid: false })).generator);
      expect(free.failure).toEqual({ kind: "refused" });
    },
  );

  it("is lost where its URL cannot be downloaded", async () => {
    const { generator } = await scriptedOpenAi(({ method }, socket) => {
      socket.write(method === "POST" ? json({ data: [{ url: "/gone.png?key=1" }] }) : response(404, ""));
    });
    const { message, failure } = await failing(generator);
    expect(failure).toEqual({ kind: "lost" });
    expect(message).toContain("HTTP 404");
  });
});

describe("a failure on the way", () => {
  it("before the request is sent is none of the server's", async () => {
    const generator = openAiAt(`http://127.0.0.1:${await deadPort()}/v1`, { isPaid: true });
    const { message, failure } = await failing(generator);
    expect(failure).toEqual({ kind: "unreachable" });
    expect(message).toContain("the connection was refused");
  });

  it.each([
    ["is cut before the reply", ""],
    ["is cut in the head of the reply", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["is cut in the reply", `HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{"data":[{"b64_json":"${BASE64}`],
    ["is cut in a reply of no stated length", `HTTP/1.1 200 OK\r\n\r\n{"data":[{"b64_json":"${BASE64}`],
    ["is cut after the head of a reply of no stated length", "HTTP/1.1 200 OK\r\n\r\n"],
  ])("that %s may have cost an image", async (_when, sent) => {
    const { server, generator } = await scriptedOpenAi((_request, socket) => void socket.end(sent));
    const { failure } = await failing(generator);
    expect(failure).toEqual({ kind: "lost" });
    expect(server.requests).toHaveLength(1);
  });

  it("costs nothing where the reply's JSON came whole before the cut", async () => {
    const { generator } = await scriptedOpenAi((_request, socket) => {
      socket.end(`HTTP/1.1 200 OK\r\ncontent-length: 900000\r\n\r\n${JSON.stringify(ONE_IMAGE)}`);
    });
    await expectPicture(generator);
  });

  it.each([
    ["before its reply", ""],
    ["in its reply", `HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{"data":[{"b64_json":"${BASE64}`],
  ])("is the signal's reason where the request is given up %s, as at its time limit", async (_when, sent) => {
    const limit = new AbortController();
    const reason = new TimeLimitError("over");
    const { generator } = await scriptedOpenAi((_request, socket) => {
      socket.write(sent, () => setTimeout(() => limit.abort(reason), 50));
    });
    const making = generator.generate(await jobFor(), { ...ALONE, signal: limit.signal });
    await expect(making).rejects.toBe(reason);
  });

  it("shows no key that the server repeats", async () => {
    const { generator } = await scriptedOpenAi(
      answering({ error: { message: `Incorrect API key: ${CANARY}` } }, 401),
      { key: CANARY },
    );
    const { message } = await failing(generator);
    expect(message).toContain("Incorrect API key: sk-…2046");
  });

  it.each([301, 302, 307, 308])("is a redirect (%i), along which no key goes", async (status) => {
    const elsewhere = await liveServer(answering(ONE_IMAGE));
    const { generator } = await scriptedOpenAi(
      answering({}, status, { location: `${elsewhere.origin}/v1/images/generations` }),
      { key: CANARY },
    );
    const { failure } = await failing(generator);
    expect(failure.kind).toBe(status === 302 ? "lost" : "account");
    expect(elsewhere.requests).toEqual([]);
  });
});

describe("a request whose process ended", () => {
  it("has its image where the reply had arrived to its last byte", async () => {
    const { server, generator } = await scriptedOpenAi(answering(ONE_IMAGE), { isPaid: true });
    const job = await jobFor();
    await generator.generate(job, ALONE);
    const image = await openAiAt(`${server.origin}/v1`).recover(job);
    expect(image).toEqual({ file: expect.stringContaining(job.folder), usage: ONE_IMAGE.usage });
    expect(server.requests).toHaveLength(1);
  });

  it("has its refusal where that had arrived", async () => {
    const { server, generator } = await scriptedOpenAi(
      answering({ error: { message: "No.", code: "moderation_blocked" } }, 400),
    );
    const job = await jobFor();
    await generator.generate(job, ALONE).catch(() => {});
    await expect(openAiAt(`${server.origin}/v1`).recover(job)).rejects.toThrow(/refused the request .*No/);
  });

  it("has nothing where the reply was cut, or none has come", async () => {
    const cut = `HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{"data":[{"b64_json":"${BASE64}`;
    const { generator } = await scriptedOpenAi((_request, socket) => void socket.end(cut));
    const job = await jobFor();
    expect(await generator.recover(job)).toBeNull();
    await generator.generate(job, ALONE).catch(() => {});
    expect(await readdir(job.folder)).toEqual(["reply"]);
    expect(await generator.recover(job)).toBeNull();
  });
});

describe("the models", () => {
  it.each<[string, unknown, string[] | null]>([
    ["a list in an object", { data: [{ id: "sd_xl" }, { id: "flux" }] }, ["sd_xl", "flux"]],
    [
      "a list",
      [
        { id: "flux", type: "image" },
        { id: "llama", type: "chat" },
      ],
      ["flux"],
    ],
    ["something else", { models: "many" }, null],
  ])("may be %s", async (_form, answer, names) => {
    const { generator } = await scriptedOpenAi(answering(answer));
    expect(await generator.models(ALONE.signal)).toEqual(names);
  });

  it("are not known of a server that has no list of them", async () => {
    const { generator } = await scriptedOpenAi(answering({ detail: "Not Found" }, 404));
    expect(await generator.models(ALONE.signal)).toBeNull();
  });

  it("of OpenAI are those that make images", async () => {
    const { generator } = await scriptedOpenAi(
      answering({ data: [{ id: "gpt-5" }, { id: "gpt-image-2" }] }),
      {
        as: "https://api.openai.com/v1",
      },
    );
    expect(await generator.models(ALONE.signal)).toEqual(["gpt-image-2"]);
  });

  it("are refused with a wrong key", async () => {
    const { generator } = await scriptedOpenAi(answering({ error: { message: "Bad key" } }, 401));
    await expect(generator.models(ALONE.signal)).rejects.toMatchObject({
      failure: { kind: "account", key: "login_required" },
    });
  });
});
