import { expect, it, onTestFinished } from "vitest";
import { expectPublished } from "../providers/openai/published-fields.ts";
import { CANARY } from "../support/canary.ts";
import { selfSigned, trusting } from "../support/certificate.ts";
import { PICTURE } from "../support/images.ts";
import { programWorld } from "../support/program-world.ts";
import { response, scriptedServer } from "../support/scripted-server.ts";
import { tunnelProxy } from "../support/tunnel-proxy.ts";

const COMPLETED = {
  type: "image_generation.completed",
  b64_json: PICTURE.toString("base64"),
  usage: { total_tokens: 1100 },
};

/**
 * A double of api.openai.com, which the program reaches under that name: through a proxy that leads there, with a
 * certificate that it is told to trust.
 */
async function openAi(certificate = selfSigned("api.openai.com")) {
  const server = await scriptedServer((_request, socket) => {
    const body = `event: ${COMPLETED.type}\ndata: ${JSON.stringify(COMPLETED)}\n\n`;
    socket.write(response(200, body, { "content-type": "text/event-stream" }));
  }, certificate);
  onTestFinished(() => server.close());
  return { server, certificate, proxy: await tunnelProxy("tunnel", server.port) };
}

it("OpenAI's key in the environment is all that an image from OpenAI needs", async () => {
  const { server, certificate, proxy } = await openAi();
  const world = await programWorld(null, { IMGGEN_API_KEY: undefined });
  const env = { ...trusting(certificate, world.folder), HTTPS_PROXY: proxy.url, OPENAI_API_KEY: CANARY };
  const run = await world.generate(["--generator", "openai", "--verbose"], { env });
  expect(run).toMatchObject({ code: 0 });
  expect(run.stderr).toContain("POST https://api.openai.com/v1/images/generations: 200");
  const { taskId, ...document } = JSON.parse(run.stdout);
  expect(document).toMatchObject({ charged: "yes", usage: { total_tokens: 1100 }, files: [{}] });
  expect(await world.files()).toHaveLength(1);
  const [request] = server.submits();
  // It is asked for its models before it is paid for an image.
  expect(server.requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
  expectPublished(JSON.parse(request?.body ?? ""), "generations");
  expect(JSON.parse(request?.body ?? "")).toMatchObject({ model: "gpt-image-2", stream: true });
  const authorization = `Bearer ${CANARY}`;
  expect(request?.headers).toMatchObject({ authorization, "x-client-request-id": taskId });
  expect(proxy.heads.join()).not.toContain(CANARY);
});
