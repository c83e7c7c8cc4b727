import path from "node:path";
import { describe, expect, it } from "vitest";
import type { GeneratorOptions } from "../../src/providers/kind.ts";
import { TimeLimitError } from "../../src/providers/provider.ts";
import { PICTURE } from "../support/images.ts";
import { liveServer } from "../support/live-server.ts";
import { type Answer, json, response, toBehaviour } from "../support/scripted-server.ts";
import { ALONE, DATA_REFERENCE, fileReference, type JobParts, jobFor, opened, told } from "./job.ts";

const IMAGE = PICTURE.toString("base64");
/** As AUTOMATIC1111 answers: what it was asked for, and what it made of that, as a text of JSON. */
const ANSWER = { images: [IMAGE], parameters: { prompt: "a red fox" }, info: '{"seed": 1}' };

/** A generator at a server that answers its requests for images so. */
async function at(answer: Answer, options: Partial<GeneratorOptions> = {}, base = "") {
  const server = await liveServer((request, socket) =>
    request.method === "POST"
      ? toBehaviour(answer)(request, socket)
      : void socket.write(json({ detail: "Not Found" }, 404)),
  );
  const url = `${server.origin}${base}`;
  const generator = await opened({ kind: "sdapi", name: `sdapi:${url}`, url }, options);
  return {
    server,
    generator,
    /** Submits a job. @returns what came of it, and its images */
    generate: async (overrides: JobParts = {}, how = ALONE) => {
      const job = await jobFor(overrides);
      const reply = await generator.submit(job, how);
      const images = reply.outcome === "made" ? await generator.images?.(job) : [];
      return { job, reply, images, ...told(reply) };
    },
    bodies: () => server.submits().map(({ body }) => JSON.parse(body)),
  };
}

const MADE = [{ kind: "bytes", bytes: PICTURE }];

it("asks for an image with what the request says and the user has set, and nothing else", async () => {
  const { generate, server, bodies } = await at(json(ANSWER));
  const fields = { steps: 4, negative_prompt: "rain" };
  const { reply, images } = await generate({ fields });
  expect(server.requests).toMatchObject([{ method: "POST", target: "/sdapi/v1/txt2img" }]);
  expect(bodies()).toEqual([{ prompt: "a red fox", width: 64, height: 48, ...fields }]);
  expect(server.requests[0]?.headers).not.toHaveProperty("authorization");
  expect(reply).toEqual({ outcome: "made", usage: null, seeds: [1] });
  expect(images).toEqual(MADE);
});

it.each([
  ['{"seed": 18446744073709551615}', ["18446744073709551615"]],
  ['{"seed": 1, "all_seeds": [1, 2]}', [1, 2]],
  ['{"seed": -1}', undefined],
  ["no JSON", undefined],
  [7, undefined],
])("reads the seed that the server reports, digit by digit: %j is %j", async (info, seeds) => {
  const { generate } = await at(json({ ...ANSWER, info }));
  expect((await generate()).reply).toEqual({ outcome: "made", usage: null, ...(seeds && { seeds }) });
});

it("asks for a model, which stays loaded", async () => {
  const { generate, bodies } = await at(json(ANSWER));
  await generate({ model: "sd_xl_base_1.0" });
  expect(bodies()[0]).toMatchObject({
    override_settings: { sd_model_checkpoint: "sd_xl_base_1.0" },
    override_settings_restore_afterwards: false,
  });
});

it("sends a reference image in base64 to img2img, and refuses several", async () => {
  const { generate, generator, server, bodies } = await at(json(ANSWER));
  const file = await fileReference();
  const fields = { denoising_strength: 0.5 };
  await generate({ references: [DATA_REFERENCE], fields });
  await generate({ references: [file] });
  expect(server.submits()[0]?.target).toBe("/sdapi/v1/img2img");
  const body = { prompt: "a red fox", width: 64, height: 48, init_images: [IMAGE] };
  expect(bodies()).toEqual([{ ...body, ...fields }, body]);
  const problem = "An sdapi server supports one reference image, not 2.";
  expect(generator.check?.(await jobFor({ references: [DATA_REFERENCE, file] }))).toBe(problem);
  expect(generator.check?.(await jobFor({ references: [file] }))).toBeNull();
});

it.each([
  ["ada:open sesame", `Basic ${Buffer.from("ada:open sesame").toString("base64")}`],
  ["token", "Bearer token"],
])("authenticates with user and password where the key has both: %s", async (key, authorization) => {
  const { generate, server } = await at(json(ANSWER), { key });
  await generate();
  expect(server.requests[0]?.headers).toMatchObject({ authorization });
});

it("takes the address with and without the path of the API", async () => {
  const { generate, server } = await at(json(ANSWER), {}, "/webui/sdapi/v1");
  await generate();
  expect(server.requests[0]?.target).toBe("/webui/sdapi/v1/txt2img");
});

it.each([
  ["a reply that begins with a byte-order mark", response(200, `\uFEFF${JSON.stringify(ANSWER)}`)],
  ["an image that comes as a data: URL", json({ images: [DATA_REFERENCE.url] })],
])("reads %s", async (_what, answer) => {
  expect((await (await at(answer)).generate()).images).toEqual(MADE);
});

it("reports how far the server is, until the image has come", async () => {
  let answerImage = () => {};
  const shares = [0, 0.25, 0.75];
  const server = await liveServer((request, socket) => {
    if (request.method === "POST") answerImage = () => void socket.write(json(ANSWER));
    else if (shares.length > 0) socket.write(json({ progress: shares.shift(), eta_relative: 3 }));
    else {
      socket.write(json({ progress: 0.99 }));
      answerImage();
    }
  });
  const generator = await opened({ kind: "sdapi", name: "sdapi:", url: server.origin });
  const seen: number[] = [];
  const reply = await generator.submit(await jobFor(), { ...ALONE, onProgress: (share) => seen.push(share) });
  expect(reply.outcome).toBe("made");
  expect(seen.slice(0, 2)).toEqual([0.25, 0.75]);
  const asked = server.requests.filter(({ method }) => method === "GET").map(({ target }) => target);
  expect(new Set(asked)).toEqual(new Set(["/sdapi/v1/progress?skip_current_image=true"]));
});

describe("a failure", () => {
  it("with 404 is a server without the API", async () => {
    const { generate } = await at(json({ detail: "Not Found" }, 404));
    const message = expect.stringMatching(/There is no image API at /);
    expect(await generate()).toMatchObject({ what: "invalid_request", message });
  });

  it.each([
    ["no images", { images: [], info: "" }],
    ["null", { images: [null] }],
    ["base64 of nothing", { images: ["="] }],
    ["something else", { detail: "nothing to see" }],
  ])("%s in place of an image is a refusal, or may have been paid for", async (_what, body) => {
    const { generate } = await at(json(body));
    const message = expect.stringMatching(/sent a reply without an image/);
    expect(await generate()).toMatchObject({ what: "generation_failed", message });
    const paid = await generate({ isPaid: true });
    expect(paid).toMatchObject({
      what: "unknown",
      message,
      reply: { savedPath: path.join(paid.job.folder, "reply") },
    });
  });
});

it("a reply of no stated length that ends before its image is lost, and not asked for again", async () => {
  const { generate, server } = await at(
    (_request, socket) => void socket.end('HTTP/1.1 200 OK\r\n\r\n{"images":["iVBORw0K'),
  );
  const message = expect.stringMatching(/the reply ended before the image/);
  expect(await generate()).toMatchObject({ what: "unknown", message });
  expect(server.submits()).toHaveLength(1);
});

describe("a request that is given up", () => {
  const givenUp = async (parts: JobParts, interrupted: Buffer) => {
    const limit = new AbortController();
    const { generate, server } = await at((request, socket) => {
      if (request.target === "/sdapi/v1/interrupt") socket.write(interrupted);
      else limit.abort(new TimeLimitError("It took too long."));
    });
    const { reply } = await generate(parts, { ...ALONE, signal: limit.signal });
    expect(reply).toMatchObject({ outcome: "unknown", why: expect.stringMatching(/It took too long$/) });
    return { reply, stops: server.submits().filter(({ target }) => target.endsWith("/interrupt")).length };
  };

  it.each([
    ["has a free server end its work", {}, json({}), true, 1],
    ["may go on where the server does not say that it has ended", {}, json({}, 404), false, 1],
    ["goes on where it is paid for", { isPaid: true }, json({}), false, 0],
  ])("%s", async (_what, parts, interrupted, isStopped, stops) => {
    expect(await givenUp(parts, interrupted)).toMatchObject({ reply: { isStopped }, stops });
  });

  it("stops nobody else's work where it was not sent", async () => {
    const { generate, server } = await at(json(ANSWER));
    const signal = AbortSignal.abort(new TimeLimitError("It took too long."));
    expect((await generate({}, { ...ALONE, signal })).what).toBe("not_sent");
    expect(server.requests).toEqual([]);
  });
});

describe("after its process was killed", () => {
  it("a reply that had arrived is an image", async () => {
    const { generate, generator, server } = await at(json(ANSWER));
    const { job } = await generate({ isPaid: true });
    expect(await generator.recover?.(job, ALONE)).toEqual({ outcome: "made", usage: null, seeds: [1] });
    expect(await generator.images?.(job)).toEqual(MADE);
    expect(server.submits()).toHaveLength(1);
  });

  it("a reply that had not arrived to its last byte is none", async () => {
    const whole = json(ANSWER);
    const { generate, generator } = await at((_request, socket) => void socket.end(whole.subarray(0, -20)));
    const { job } = await generate();
    expect(await generator.recover?.(job, ALONE)).toBeNull();
    expect(await generator.recover?.(await jobFor(), ALONE)).toBeNull();
  });
});

describe("its models", () => {
  const listing = async (answer: Buffer) => {
    const server = await liveServer(answer);
    const generator = await opened({ kind: "sdapi", name: "sdapi:", url: server.origin });
    return { names: generator.models?.(ALONE.signal), server };
  };

  it("are the checkpoints by their names", async () => {
    const { names, server } = await listing(
      json([
        { title: "sd_xl_base_1.0.safetensors [31e35c80fc]", model_name: "sd_xl_base_1.0", hash: null },
        { title: "v1-5-pruned.ckpt" },
      ]),
    );
    expect(await names).toEqual(["sd_xl_base_1.0", "v1-5-pruned.ckpt"]);
    expect(server.requests[0]?.target).toBe("/sdapi/v1/sd-models");
  });

  it("are not known where the server has no list", async () => {
    expect(await (await listing(json({ detail: "Not Found" }, 404))).names).toBeNull();
    expect(await (await listing(json({}))).names).toBeNull();
  });

  it("are not listed for a wrong password", async () => {
    const { names } = await listing(json({ detail: "Incorrect username or password" }, 401));
    await expect(names).rejects.toMatchObject({
      failure: { kind: "account" },
      message: expect.stringMatching(/Incorrect username or password/),
    });
  });
});
