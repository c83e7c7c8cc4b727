import { expect, it } from "vitest";
import { servedBy } from "../e2e/image-server.ts";
import { clientOf } from "../sandbox/live.ts";
import { drawn, failing, scriptedProvider } from "../serve/provider-script.ts";
import { comfyDouble } from "../support/comfyui.ts";
import { programWorld } from "../support/program-world.ts";
import { clientFor, failure, withOpenAi } from "./openai-client.ts";

it("the progress of a job at ComfyUI is in polls, and in a stream of OpenAI's client", async () => {
  const world = await programWorld(null);
  const double = await comfyDouble({ isHeld: true });
  const server = await servedBy(world, ["serve", "--generator", `comfyui:${double.url}`]);
  const { accepted, poll } = clientOf(server.baseUrl, server.apiKey);
  const openai = clientFor(server, Number(new URL(server.baseUrl).port));
  const taskId = await accepted({ prompt: "a hare" });
  const streamed = openai.images.generate({ prompt: "a fox", stream: true });
  await expect.poll(() => double.clients()).toHaveLength(2);
  for (const id of double.clients()) {
    double.say(id, "execution_cached", { prompt_id: id, nodes: ["1", "2", "3"] });
    double.say(id, "progress", { prompt_id: id, node: "5", value: 10, max: 20 });
  }
  await expect
    .poll(async () => (await poll(taskId)).body.data)
    .toMatchObject({ status: "processing", progress: 13 / 26 });
  const events: object[] = [];
  for await (const event of await streamed) {
    events.push(event);
    double.release();
  }
  expect(events[0]).toMatchObject({ type: "imggen.progress", share: 0.5 });
  expect(events.at(-1)).toMatchObject({ type: "image_generation.completed", b64_json: expect.any(String) });
});

it("the progress of several images is that of all of them, and an error after it is an event", async () => {
  const shares = [0.5, 0.2, 0.25];
  const ends: (() => void)[] = [];
  const provider = scriptedProvider(async (job, { onSent, onProgress }, number) => {
    onSent();
    onProgress?.(shares[number - 1] ?? 0);
    await new Promise<void>((resolve) => ends.push(resolve));
    return number < 3 ? drawn(job) : failing("refused", "no such thing");
  });
  const { openai, accepted, poll } = await withOpenAi({ provider });
  const taskId = await accepted({ prompt: "a hare", maxImages: 2 });
  for (const [at, progress] of [0.25, 0.6].entries()) {
    await expect
      .poll(async () => (await poll(taskId)).body.data)
      .toMatchObject({ status: "processing", progress });
    ends[at]?.();
  }
  await expect.poll(async () => (await poll(taskId)).body.data?.status).toBe("completed");
  const events: object[] = [];
  const reading = async () => {
    for await (const event of await openai.images.generate({ prompt: "a fox", stream: true })) {
      events.push(event);
      ends[2]?.();
    }
  };
  expect(await failure(reading())).toMatchObject({ code: "generation_failed" });
  expect(events).toEqual([{ type: "imggen.progress", share: 0.25 }]);
  expect(provider.jobs).toHaveLength(3);
});
