import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { TimeLimitError } from "../../../src/providers/provider.ts";
import { CANARY } from "../../support/canary.ts";
import { PICTURE } from "../../support/images.ts";
import { deadPort, liveServer } from "../../support/live-server.ts";
import { json, response } from "../../support/scripted-server.ts";
import { ALONE, jobFor, told } from "../job.ts";
import {
  BASE64,
  bodies,
  expectPicture,
  failing,
  made,
  ONE_IMAGE,
  openAiAt,
  scriptedOpenAi,
} from "./openai-world.ts";

const FORMAT_REFUSED = {
  error: { message: "Unknown parameter: 'response_format'.", param: "response_format" },
};

describe("a request", () => {
  it("says what the job does and the user asks, and nothing else", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE);
    const fields = { steps: 8, negative_prompt: "blur", tiled: true };
    const image = await expectPicture(generator, { model: "z-image", fields });
    expect(image.usage).toEqual(ONE_IMAGE.usage);
    const job = { model: "z-image", prompt: "a red fox", size: "64x48", response_format: "b64_json" };
    expect(bodies(server)).toEqual([{ ...job, ...fields }]);
  });

  it("names no model where the job names none, and has no key where there is none", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE);
    await expectPicture(generator);
    expect(bodies(server)[0]).not.toHaveProperty("model");
    expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
    expect(server.requests[0]?.headers).not.toHaveProperty("x-client-request-id");
  });

  it("has a field of ours as the user sets it", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE);
    await expectPicture(generator, { fields: { response_format: "png_b64", size: "512x512" } });
    expect(bodies(server)[0]).toMatchObject({ response_format: "png_b64", size: "512x512" });
  });

  it("asks for no response format of OpenAI's models, which refuse the field", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE);
    for (const model of ["gpt-image-2", "chatgpt-image-latest", "openai/gpt-image-1"])
      await expectPicture(generator, { model });
    for (const body of bodies(server)) expect(body).not.toHaveProperty("response_format");
  });

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
    const { server, generator } = await scriptedOpenAi(json(FORMAT_REFUSED, 400));
    expect((await failing(generator, { fields: { response_format: "url" } })).what).toBe("invalid_request");
    expect(server.requests).toHaveLength(1);
  });

  it("keeps a query of the base, and has the user's headers", async () => {
    const server = await liveServer(json(ONE_IMAGE));
    const headers = { "Api-Key": CANARY };
    await expectPicture(openAiAt(`${server.origin}/openai/v1?api-version=preview`, { headers }));
    const target = "/openai/v1/images/generations?api-version=preview";
    expect(server.requests).toMatchObject([{ target, headers: { "api-key": CANARY } }]);
  });
});

describe("an answer", () => {
  it.each<[string, object]>([
    ["base64", ONE_IMAGE],
    ["base64 beside its format", { output_format: "png", data: [{ b64_json: BASE64 }] }],
    ["the image itself", response(200, PICTURE, { "content-type": "application/octet-stream" })],
    ["base64 with a line break in it", { data: [{ b64_json: BASE64.replace("A", "A\n") }] }],
    ["a data: URL in place of base64", { data: [{ b64_json: `data:image/png;base64,${BASE64}` }] }],
    ["a data: URL", { data: [{ url: `data:image/png;base64,${BASE64}` }] }],
    ["an object in place of a list", { data: { b64_json: BASE64 } }],
    ["nothing before the image", { data: [null, {}, { b64_json: BASE64 }] }],
  ])("may be %s", async (_form, answer) => {
    const { generator } = await scriptedOpenAi(answer);
    await expectPicture(generator);
  });

  const WITH_KEY = { "x-tag": "generated", authorization: `Bearer ${CANARY}` };

  it.each([
    ["absolute", "HERE/v1/images/7/content", "HERE/v1/images/7/content", WITH_KEY],
    ["relative", "/v1/images/7/content", "HERE/v1/images/7/content", WITH_KEY],
    ["another server's", "https://files.example/1.png?s=1", "https://files.example/1.png?s=1", null],
    ["relative, with a word of a header in it", "/generated-images/1", "HERE/generated-images/1", WITH_KEY],
  ])(
    "may be a URL that is %s, which gets the key of its own server alone",
    async (_form, said, url, given) => {
      const { server, generator } = await scriptedOpenAi(
        ({ headers }, socket) => {
          const answer = {
            data: [{ url: said.replace("HERE", `http://${headers.host}`) }],
            usage: { cost: 1 },
          };
          socket.write(json(answer));
        },
        { key: CANARY, headers: { "x-tag": "generated" } },
      );
      const { images, usage } = await made(generator);
      const image = {
        kind: "url",
        url: url.replace("HERE", server.origin),
        ...(given && { headers: given }),
      };
      expect(images).toEqual([image]);
      expect(usage).toEqual({ cost: 1 });
      expect(server.requests).toHaveLength(1);
    },
  );

  it.each([
    ["NaN and Infinity", `{"cost": NaN, "most": -Infinity, "text": "NaN \\" NaN"}`],
    ["3,000 levels", `${"[".repeat(3000)}${"]".repeat(3000)}`],
    ["2 MiB of usage", `{"log": "${"x".repeat(2 ** 21)}"}`],
  ])("is an image with %s in it, too", async (_what, usage) => {
    const body = `{"usage": ${usage}, "data": [{"b64_json": "${BASE64}"}]}`;
    await expectPicture((await scriptedOpenAi(response(200, body))).generator);
  });

  it.each(["<svg/>", "BM nothing"])("is handed over unchecked where it is %s", async (text) => {
    const b64_json = Buffer.from(text).toString("base64");
    const { generator } = await scriptedOpenAi({ data: [{ b64_json }] });
    expect((await made(generator)).images).toEqual([{ kind: "bytes", bytes: Buffer.from(text) }]);
  });

  it.each<[string, unknown, string]>([
    ["an empty list", { data: [] }, "without an image"],
    ["base64 of nothing", { data: [{ b64_json: "====" }] }, "without an image"],
    ["nothing in the list", { data: [null] }, "without an image"],
    ["no list", { created: 1 }, "without an image"],
    ["an error", { error: { message: "Blocked by the safety filter." } }, "Blocked by the safety filter"],
    ["a web page", "<html><title>Sign in</title></html>", "a page with the title “Sign in”"],
    ["other text", "upstream is gone", "upstream is gone"],
    ["3,000 levels of nothing", `${"[".repeat(3000)}${"]".repeat(3000)}`, "without an image"],
  ])("with %s may have been paid for, and is a refusal of a free server", async (_form, answer, said) => {
    const body = typeof answer === "string" ? answer : JSON.stringify(answer);
    const reply200 = response(200, body);
    const { server, generator } = await scriptedOpenAi(reply200, { isPaid: true });
    const { message, what, reply, job } = await failing(generator);
    expect(what).toBe("unknown");
    expect(message).toContain(said);
    expect(reply).toMatchObject({ savedPath: path.join(job.folder, "reply"), excerpt: body.slice(0, 4096) });
    expect(server.requests).toHaveLength(1);
    expect((await failing((await scriptedOpenAi(reply200)).generator)).what).toBe("generation_failed");
    // After a crash it is worth the same.
    expect(await generator.provider.recover?.(job, ALONE)).toMatchObject({
      outcome: "unknown",
      savedPath: expect.any(String),
    });
  });

  it.each<[string, object, string]>([
    ["moderation", { error: { message: "No.", code: "moderation_blocked" } }, "generation_failed"],
    [
      "an image that moderation holds back",
      { data: [{ url: "/1", respect_moderation: false }] },
      "generation_failed",
    ],
    ["an empty account", { error: { code: "insufficient_quota" } }, "insufficient_credits"],
  ])("with %s was not charged, though it is a success", async (_form, answer, what) => {
    const { generator } = await scriptedOpenAi(answer, { isPaid: true });
    expect((await failing(generator)).what).toBe(what);
  });
});

describe("a refusal", () => {
  it.each([
    [404, { error: { message: "The model 'flux' does not exist" } }],
    [400, { error: { message: "Bad value", param: "model" } }],
    [404, { error: { code: "DeploymentNotFound", message: "No such deployment." } }],
    [404, { detail: "Not Found" }],
  ])("of a model (%i) says which there are", async (status, body) => {
    const { generator } = await scriptedOpenAi(({ method }, socket) => {
      const list = { data: [...Array(20).keys()].map((id) => ({ id: `m${id}` })) };
      socket.write(method === "GET" ? json(list) : json(body, status));
    });
    const { what, hint } = await failing(generator, { model: "flux" });
    expect(what).toBe("invalid_request");
    expect(hint).toMatch(/^Nothing was charged\. Available models: m0, m1, .*, m11, and 8 more$/);
  });

  it.each([
    ["cannot be had", response(503, "")],
    ["is empty", json({ data: [] })],
  ])("of a model stays as it is where the list of them %s", async (_why, list) => {
    const no = json({ error: { message: "The model 'flux' does not exist" } }, 404);
    const { generator } = await scriptedOpenAi(
      ({ method }, socket) => void socket.write(method === "GET" ? list : no),
    );
    expect(await failing(generator, { model: "flux" })).toMatchObject({
      what: "invalid_request",
      message: expect.stringContaining("The model 'flux' does not exist"),
      hint: expect.not.stringContaining("Its models"),
    });
  });

  it("with 404, where its models are not found either, says that there is no such API", async () => {
    const { server, generator } = await scriptedOpenAi(json({ detail: "Not Found" }, 404), { isPaid: true });
    expect(await failing(generator)).toMatchObject({
      what: "invalid_request",
      message: `There is no image API at ${server.origin}/v1 (HTTP 404). Check the address of the generator.`,
    });
  });

  const AT_OPENAI = { as: "https://api.openai.com/v1", isPaid: true };

  it.each([
    [400, { message: "Your request was rejected by our safety system", type: "invalid_request" }],
    [403, { message: "response_format is not supported", code: "content_policy_violation" }],
    [400, { message: "Unknown: moderation blocked the stream", param: "stream" }],
  ])("of the prompt (%i) is final, whatever else it names", async (status, error) => {
    const { server, generator } = await scriptedOpenAi(json({ error }, status), AT_OPENAI);
    expect((await failing(generator, { model: "flux" })).what).toBe("generation_failed");
    expect(server.requests).toHaveLength(1);
  });

  it("that only mentions a field of ours teaches nothing", async () => {
    const error = { message: "The prompt is too long. Set stream to see why; invalid request" };
    const { server, generator } = await scriptedOpenAi(json({ error }, 400), AT_OPENAI);
    expect((await failing(generator)).what).toBe("invalid_request");
    expect(server.submits()).toHaveLength(1);
  });

  it("is forgotten before the request is sent again: after a crash only what came last counts", async () => {
    const { server, generator } = await scriptedOpenAi(({ body }, socket) => {
      if (body.includes("response_format")) socket.write(json(FORMAT_REFUSED, 400));
      else socket.end("");
    });
    const { what, job } = await failing(generator);
    expect([what, server.submits().length]).toEqual(["unknown", 2]);
    expect(await generator.provider.recover?.(job, ALONE)).toBeNull();
  });
});

describe("a failure on the way", () => {
  it("before the request is sent is none of the server's", async () => {
    const generator = openAiAt(`http://127.0.0.1:${await deadPort()}/v1`, { isPaid: true });
    const onSent = () => expect.unreachable();
    const reply = await generator.provider.submit(await jobFor(), { ...ALONE, onSent });
    expect(told(reply)).toMatchObject({ what: "not_sent", message: expect.stringContaining("was refused") });
    expect(reply).toMatchObject({ error: { type: "network" } });
  });

  it("is told before the server has the request, once", async () => {
    const seen: string[] = [];
    const { generator } = await scriptedOpenAi(({ body }, socket) => {
      seen.push("arrived");
      socket.write(body.includes("response_format") ? json(FORMAT_REFUSED, 400) : json(ONE_IMAGE));
    });
    await generator.provider.submit(await jobFor(), { ...ALONE, onSent: () => seen.push("sent") });
    expect(seen).toEqual(["sent", "arrived", "arrived"]);
  });

  it.each([
    ["is cut before the reply", ""],
    ["is cut in the head of the reply", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["is cut in the reply", `HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{"data":[{"b64_json":"${BASE64}`],
    ["is cut in a reply of no stated length", `HTTP/1.1 200 OK\r\n\r\n{"data":[{"b64_json":"${BASE64}`],
    ["is cut after the head of a reply of no stated length", "HTTP/1.1 200 OK\r\n\r\n"],
  ])("that %s may have cost an image", async (_when, sent) => {
    const { server, generator } = await scriptedOpenAi((_request, socket) => void socket.end(sent));
    const { what, reply, job } = await failing(generator);
    expect(what).toBe("unknown");
    expect(reply).toMatchObject({ isStopped: false });
    expect(server.requests).toHaveLength(1);
    expect(await generator.provider.recover?.(job, ALONE)).toBeNull();
  });

  it("costs nothing where the reply's JSON came whole before the cut", async () => {
    const whole = `HTTP/1.1 200 OK\r\ncontent-length: 900000\r\n\r\n${JSON.stringify(ONE_IMAGE)}`;
    await expectPicture((await scriptedOpenAi((_request, socket) => void socket.end(whole))).generator);
  });

  const givenUp = async (sent: string, options = {}) => {
    const limit = new AbortController();
    const { generator } = await scriptedOpenAi((_request, socket) => {
      socket.write(sent, () => setTimeout(() => limit.abort(new TimeLimitError("It took too long.")), 50));
    }, options);
    const job = await jobFor(generator.parts);
    const reply = await generator.provider.submit(job, { ...ALONE, signal: limit.signal });
    return { reply, generator, job };
  };

  it.each([
    ["before its reply", "", null],
    [
      "in its reply",
      'HTTP/1.1 200 OK\r\ncontent-length: 9000\r\n\r\n{"data":[',
      expect.stringMatching(/reply$/),
    ],
  ])("leaves it unknown where the request is given up %s", async (_when, sent, savedPath) => {
    const why = expect.stringMatching(/: It took too long$/);
    const { reply } = await givenUp(sent, { isPaid: true });
    expect(reply).toMatchObject({ outcome: "unknown", why, isStopped: false, savedPath });
  });

  it("is none where the whole reply had come, and only its last chunk had not", async () => {
    const body = JSON.stringify(ONE_IMAGE);
    const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    const { reply, generator, job } = await givenUp(`${head}${body.length.toString(16)}\r\n${body}\r\n`);
    expect(reply).toEqual({ outcome: "made", usage: ONE_IMAGE.usage });
    expect(await generator.provider.images?.(job)).toHaveLength(1);
  });

  it("is none where it is given up before it is sent", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE);
    const signal = AbortSignal.abort(new Error("Interrupted by SIGINT."));
    const reply = await generator.provider.submit(await jobFor(), { ...ALONE, signal });
    const message = expect.stringMatching(/: Interrupted by SIGINT\.$/);
    expect(told(reply)).toMatchObject({ what: "not_sent", message });
    expect(server.requests).toEqual([]);
  });

  it("shows no key that the server repeats", async () => {
    const no = json({ error: { message: `Incorrect API key: ${CANARY}` } }, 401);
    const { message, what } = await failing((await scriptedOpenAi(no, { key: CANARY })).generator);
    expect(message).toContain("Incorrect API key: sk-…2046");
    expect(what).toBe("auth_required");
  });

  it.each([301, 302, 307, 308])("is a redirect (%i), along which no key goes", async (status) => {
    const elsewhere = await liveServer(json(ONE_IMAGE));
    const redirect = json({}, status, { location: `${elsewhere.origin}/v1/images/generations` });
    const { generator } = await scriptedOpenAi(redirect, { key: CANARY });
    expect((await failing(generator)).what).toBe(status === 302 ? "unknown" : "invalid_request");
    expect(elsewhere.requests).toEqual([]);
  });
});

describe("a request whose process ended", () => {
  it("has its image where the reply had arrived to its last byte", async () => {
    const { server, generator } = await scriptedOpenAi(ONE_IMAGE, { isPaid: true });
    const { job } = await made(generator);
    const { provider } = openAiAt(`${server.origin}/v1`);
    expect(await provider.recover?.(job, ALONE)).toEqual({ outcome: "made", usage: ONE_IMAGE.usage });
    expect(await provider.images?.(job)).toEqual([{ kind: "bytes", bytes: PICTURE }]);
    expect(server.requests).toHaveLength(1);
  });

  it("has its refusal where that had arrived", async () => {
    const no = json({ error: { message: "No.", code: "moderation_blocked" } }, 400);
    const { generator } = await scriptedOpenAi(no);
    const { job } = await failing(generator);
    const reply = (await generator.provider.recover?.(job, ALONE)) ?? null;
    expect(told(reply)).toMatchObject({ what: "generation_failed", message: expect.stringContaining("No") });
  });

  it("has nothing where no reply has come, and no images", async () => {
    const { generator } = await scriptedOpenAi(ONE_IMAGE);
    const job = await jobFor();
    expect(await generator.provider.recover?.(job, ALONE)).toBeNull();
    expect(await readdir(job.folder)).toEqual([]);
    await expect(generator.provider.images?.(job)).rejects.toThrow("the stored reply has no image");
  });
});

describe("the models", () => {
  it.each<[string, object, string[] | null]>([
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
    ["no list at all", json({ detail: "Not Found" }, 404), null],
  ])("may be %s", async (_form, answer, names) => {
    const { generator } = await scriptedOpenAi(answer);
    expect(await generator.provider.models?.(ALONE.signal)).toEqual(names);
  });

  it("of OpenAI are those that make images", async () => {
    const list = { data: [{ id: "gpt-5" }, { id: "gpt-image-2" }] };
    const { generator } = await scriptedOpenAi(list, { as: "https://api.openai.com/v1" });
    expect(await generator.provider.models?.(ALONE.signal)).toEqual(["gpt-image-2"]);
  });

  it("are refused with a wrong key", async () => {
    const { generator } = await scriptedOpenAi(json({ error: { message: "Bad key" } }, 401));
    await expect(generator.provider.models?.(ALONE.signal)).rejects.toMatchObject({
      failure: { kind: "account", key: "login_required" },
    });
  });
});
