import OpenAI from "openai";
import { expect, it } from "vitest";
import { ended, imageServer, served } from "../e2e/image-server.ts";
import { programWorld } from "../support/program-world.ts";

const FLAGS = ["--generator-paid", "--generator-concurrency", "1"];

it("two servers of one home, one killed: one request each, on both APIs with an Idempotency-Key", async () => {
  const world = await programWorld(null);
  const { url, asked, count, reached } = await imageServer((reply, number) => number > 1 && reply());
  const [first, second] = [await served(world, url, FLAGS), await served(world, url, FLAGS)];
  const images = ({ baseUrl, apiKey }: { baseUrl: string; apiKey: string }, prompt: string) =>
    new OpenAI({ baseURL: `${new URL(baseUrl).origin}/v1`, apiKey, maxRetries: 0 }).images.generate(
      { prompt },
      { headers: { "Idempotency-Key": prompt } },
    );
  const submit = ({ post }: typeof first) =>
    post(JSON.stringify({ prompt: "an owl" }), { "idempotency-key": "owl" });
  const cut = [images(first, "a fox")];
  await reached(1);
  cut.push(images(first, "a hare"));
  const { taskId = "" } = (await submit(first)).body.data ?? {};
  const unfinished = async () => JSON.parse((await world.run(["history", "--unfinished", "--json"])).stdout);
  await expect.poll(async () => (await unfinished()).length).toBe(3);
  first.program.kill("SIGKILL");
  expect(await Promise.allSettled(cut)).toMatchObject([{ status: "rejected" }, { status: "rejected" }]);
  expect((await submit(second)).body.data?.taskId).toBe(taskId);
  expect((await images(second, "a hare")).data).toHaveLength(1);
  await expect(images(second, "a fox")).rejects.toMatchObject({ status: 422, code: "outcome_unknown" });
  expect((await ended(second, taskId)).status).toBe("completed");
  expect([...asked.values()]).toEqual([1, 1, 1]);
  expect(count()).toBe(3);
});

it("an unmodified client outlives a server that is killed and started again on its port, and pays once", async () => {
  const world = await programWorld(null);
  const { url, count, reached } = await imageServer((reply, number) => number > 1 && reply());
  const first = await served(world, url, FLAGS);
  const { origin, port } = new URL(first.baseUrl);
  const busy = first.accepted({ prompt: "first" });
  await reached(1);
  const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: first.apiKey, maxRetries: 8 });
  const call = client.images.generate({ prompt: "a fox" });
  const unfinished = async () => JSON.parse((await world.run(["history", "--unfinished", "--json"])).stdout);
  await expect.poll(async () => (await unfinished()).length).toBe(2);
  first.program.kill("SIGKILL");
  await Promise.all([first.end, busy]);
  await served(world, url, [...FLAGS, "--port", port]);
  expect((await call).data).toHaveLength(1);
  expect(count()).toBe(2);
});
