import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { expectPublished } from "../providers/openai/published-fields.ts";
import { CANARY } from "../support/canary.ts";
import { selfSigned, trusting } from "../support/certificate.ts";
import { PICTURE } from "../support/images.ts";
import { programWorld } from "../support/program-world.ts";
import { type Behaviour, json, response, scriptedServer } from "../support/scripted-server.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";

/**
 * A double of api.openai.com, which the program reaches under that name: through a proxy that leads there, with a
 * certificate that it is told to trust.
 */
async function openAiWorld(behave: Behaviour) {
  const certificate = selfSigned("api.openai.com");
  const server = await scriptedServer(behave, certificate);
  onTestFinished(() => server.close());
  const proxy = await tunnelProxy("tunnel", server.port);
  const world = await programWorld(null);
  const env = {
    IMGGEN_API_KEY: undefined,
    ...trusting(certificate, world.folder),
    HTTPS_PROXY: proxy.url,
    OPENAI_API_KEY: CANARY,
  };
  return { server, proxy, world, env };
}

const COMPLETED = {
  type: "image_generation.completed",
  b64_json: PICTURE.toString("base64"),
  usage: { total_tokens: 1100 },
};

const streaming: Behaviour = (_request, socket) => {
  const body = `event: ${COMPLETED.type}\ndata: ${JSON.stringify(COMPLETED)}\n\n`;
  socket.write(response(200, body, { "content-type": "text/event-stream" }));
};

it("OpenAI's key in the environment is all that an image from OpenAI needs", async () => {
  const { server, proxy, world, env } = await openAiWorld(streaming);
  const run = await world.generate(["--generator", "openai", "--verbose"], { env });
  expect(run).toMatchObject({ code: 0 });
  expect(run.stderr).toContain("POST https://api.openai.com/v1/images/generations: 200");
  const { taskId, charged, files, usage } = JSON.parse(run.stdout);
  expect({ charged, usage, files: files.length }).toEqual({
    charged: "yes",
    usage: { total_tokens: 1100 },
    files: 1,
  });
  expect(await world.files()).toHaveLength(1);
  const [request] = server.submits();
  // It is asked for its models before it is paid for an image.
  expect(server.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
  expectPublished(JSON.parse(request?.body ?? ""), "generations");
  expect(JSON.parse(request?.body ?? "")).toMatchObject({ model: "gpt-image-2", stream: true });
  expect(request?.headers).toMatchObject({
    authorization: `Bearer ${CANARY}`,
    "x-client-request-id": taskId,
  });
  expect(proxy.heads.join()).not.toContain(CANARY);
});

it("a key that OpenAI does not accept ends the command and its task, at no charge; one that it does makes the image", async () => {
  let isAccepted = false;
  const { server, world, env } = await openAiWorld((request, socket) => {
    if (isAccepted) return streaming(request, socket);
    socket.write(json({ error: { message: "Incorrect API key provided.", code: "invalid_api_key" } }, 401));
  });
  const refused = await world.generate(["--generator", "openai"], { env });
  expect(refused.code).toBe(3);
  const { error, charged, resume } = JSON.parse(refused.stdout);
  expect({ error, charged, resume }).toMatchObject({
    error: { message: expect.stringContaining("Incorrect API key provided") },
    charged: "no",
    resume: null,
  });
  isAccepted = true;
  expect(await world.generate(["--generator", "openai"], { env })).toMatchObject({ code: 0 });
  expect(server.submits()).toHaveLength(2);
  expect(await world.files()).toHaveLength(1);
});

it("a kill after the last byte of the image loses nothing: resume saves it, in no second request", async () => {
  const { server, world, env } = await openAiWorld(({ method }, socket) => {
    if (method === "GET") return void socket.write(json({ data: [{ id: "gpt-image-2" }] }));
    const event = `data: ${JSON.stringify(COMPLETED)}\n\n`;
    // The connection stays open after the image, so that the program still waits when it is killed.
    const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: ${event.length + 1}`;
    socket.write(`${head}\r\n\r\n${event}`);
  });
  const child = world.start(world.generateArgs(["--generator", "openai"]), { env });
  await expect.poll(() => repliesIn(world.home)).toContain(COMPLETED.b64_json);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await world.resume(["--generator", "openai"], { env })).toMatchObject({ code: 0 });
  expect(await world.files()).toHaveLength(1);
  expect(server.submits()).toHaveLength(1);
});

/** What has arrived of generators' replies below a home. */
async function repliesIn(home: string): Promise<string> {
  const names = await readdir(home, { recursive: true }).catch(() => []);
  const files = names.filter((name) => path.basename(name) === "reply");
  const texts = await Promise.all(
    files.map((name) => readFile(path.join(home, name), "utf8").catch(() => "")),
  );
  return texts.join();
}
