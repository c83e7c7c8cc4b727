import { createOpenAI } from "@ai-sdk/openai";
import { generateImage } from "ai";
import { describe, expect, it } from "vitest";
import { drawn, failing, scriptedProvider } from "../serve/provider-script.ts";
import { liveServer } from "../serve/serve-world.ts";
import { png } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { cutting, heldProvider } from "./openai-client.ts";

const ONCE_MS = 600_000;

type Live = Parameters<typeof liveServer>[0];

/** A server of a paid generator, and the AI SDK's call of it with all its defaults, through a proxy that can be cut. */
async function withAiSdk(live: Live = {}) {
  const server = await liveServer({ options: { isPaid: true }, ...live });
  const proxy = await cutting(server.port);
  const baseURL = `http://127.0.0.1:${proxy.port}/v1`;
  const image = () => {
    const model = createOpenAI({ baseURL, apiKey: server.apiKey }).image("sdxl");
    return generateImage({ model, prompt: "a fox" });
  };
  return { ...server, proxy, image };
}

describe("the AI SDK", () => {
  it("gets its image", async () => {
    const { image } = await withAiSdk();
    expect(Buffer.from((await image()).image.uint8Array).equals(png())).toBe(true);
  });

  it.each([
    ["whose outcome is unknown", "lost", "HTTP 500"],
    ["that the generator has refused", "refused", "HTTP 422"],
  ] as const)("pays once for a request %s, and repeats nothing", async (_what, kind, words) => {
    const provider = scriptedProvider(() => failing(kind, words));
    const { image, proxy } = await withAiSdk({ provider });
    await expect(image()).rejects.toMatchObject({ statusCode: 422, isRetryable: false });
    expect([provider.jobs.length, proxy.requests.count]).toEqual([1, 1]);
  });

  it("repeats a request of which nothing was sent, and gets its image of one that was", async () => {
    const provider = scriptedProvider((job, _how, number) =>
      number === 1 ? failing("unsent", "Connection refused.") : drawn(job),
    );
    const { image } = await withAiSdk({ provider });
    expect((await image()).images).toHaveLength(1);
    expect(provider.jobs).toHaveLength(2);
  });

  it("whose connection is cut pays once with --once, from the next server too", async () => {
    const folder = await temporaryFolder();
    const { provider, answer } = heldProvider();
    const { image, proxy, close } = await withAiSdk({ folder, provider, onceMs: ONCE_MS, graceMs: 5_000 });
    const call = image();
    await provider.sent(1);
    proxy.cut();
    await proxy.requests.reached(2);
    await answer(1);
    expect((await call).images).toHaveLength(1);
    await close();
    const next = await withAiSdk({ folder, provider, onceMs: ONCE_MS });
    expect((await next.image()).images).toHaveLength(1);
    expect(provider.jobs).toHaveLength(1);
  });

  it("whose connection is cut pays again without --once: it does not say that it repeats", async () => {
    const { provider, answer } = heldProvider();
    const { image, proxy } = await withAiSdk({ provider, options: { isPaid: true, concurrency: 2 } });
    const call = image();
    await provider.sent(1);
    proxy.cut();
    await provider.sent(2);
    await Promise.all([answer(1), answer(2)]);
    expect((await call).images).toHaveLength(1);
    expect(provider.jobs).toHaveLength(2);
  });

  it("that got an empty list of images pays once with --once", async () => {
    const provider = scriptedProvider();
    const { image, proxy, apiKey, port } = await withAiSdk({ provider, onceMs: ONCE_MS });
    const baseURL = `http://127.0.0.1:${port}/v1`;
    let replies = 0;
    /** As a proxy before it that loses the first list of images. */
    const emptied: typeof fetch = async (...request) => {
      const reply = await fetch(...request);
      replies += 1;
      if (replies > 1) return reply;
      await reply.arrayBuffer();
      return Response.json({ created: 1, data: [] });
    };
    const model = createOpenAI({ baseURL, apiKey, fetch: emptied }).image("sdxl");
    expect((await generateImage({ model, prompt: "a fox" })).images).toHaveLength(1);
    expect((await image()).images).toHaveLength(1);
    expect([provider.jobs.length, replies, proxy.requests.count]).toEqual([1, 2, 1]);
  });
});
