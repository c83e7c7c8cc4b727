import type { ClientOptions } from "openai";
import { describe, expect, it } from "vitest";
import { imageServer, served } from "../e2e/image-server.ts";
import { counted } from "../support/counted.ts";
import { png } from "../support/images.ts";
import { programWorld } from "../support/program-world.ts";
import { clientFor, cutting, imageOf } from "./openai-client.ts";

/** A port at which nothing listens. */
const CLOSED_PORT = 1;
const FOX = { prompt: "a fox" };

/** Two living servers of one home, a paid generator whose requests are in flight until they are answered, and a proxy. */
async function two(flags: readonly string[] = []) {
  const world = await programWorld(null);
  const [open, held]: [(() => void)[], ReturnType<typeof counted>] = [[], counted()];
  const generator = await imageServer((reply) => {
    open.push(reply);
    held.add();
  });
  const args = ["--generator-paid", "--generator-concurrency", "1", ...flags];
  const start = () => served(world, generator.url, args);
  const [first, second] = await Promise.all([start(), start()]);
  const [port = 0, other = 0] = [first, second].map(({ baseUrl }) => Number(new URL(baseUrl).port));
  const proxy = await cutting(port);
  const clientAt = (at: number, options?: ClientOptions) => clientFor(first, at, options);
  const unfinished = async () =>
    JSON.parse((await world.run(["history", "--unfinished", "--json"])).stdout).length;
  /** Answers the request of this number. */
  const answer = async (number: number) => {
    await held.reached(number);
    open.shift()?.();
  };
  return {
    ...generator,
    answer,
    unfinished,
    /** The unmodified client, through the proxy. */
    client: clientAt(proxy.port),
    proxy,
    first: clientAt(port, { maxRetries: 0 }),
    second: clientAt(other, { maxRetries: 0 }),
    /** Cuts the connection: the client's retry comes to the second server. */
    async moveOn() {
      proxy.cut(other);
      await proxy.requests.reached(2);
    },
  };
}

describe.for([[[]], [["--once", "10m"]]])("of two living servers of one home %j", ([flags]) => {
  it("the second answers the retry of a request that the first has sent: one image, paid once", async () => {
    const { client, proxy, reached, answer, moveOn, count } = await two(flags);
    const call = client.images.generate(FOX);
    await reached(1);
    await proxy.requests.reached(1);
    await moveOn();
    await answer(1);
    expect(imageOf(await call).equals(png(1))).toBe(true);
    expect(count()).toBe(1);
  });

  it("the second sends the request that still waited at the first, once", async () => {
    const { client, first, moveOn, answer, unfinished, reached, count, asked } = await two(flags);
    const busy = first.images.generate({ prompt: "first" });
    await reached(1);
    const call = client.images.generate(FOX);
    await expect.poll(unfinished).toBe(2);
    await moveOn();
    for (const number of [1, 2]) await answer(number);
    expect((await busy).data).toHaveLength(1);
    expect((await call).data).toHaveLength(1);
    expect(count()).toBe(2);
    expect([...asked.values()]).toEqual([1, 1]);
  });

  it("the second has the image that the first has made while the client was away", async () => {
    const { client, proxy, reached, answer, unfinished, moveOn, count } = await two(flags);
    const call = client.images.generate(FOX, { maxRetries: 8 });
    await reached(1);
    proxy.cut(CLOSED_PORT);
    await answer(1);
    await expect.poll(unfinished).toBe(0);
    await moveOn();
    expect((await call).data).toHaveLength(1);
    expect(count()).toBe(1);
  });
});

it("equal requests of clients that count no retries are one with --once, at both servers at once and later", async () => {
  const { first, second, answer, count } = await two(["--once", "10m"]);
  const calls = [first, second].map(({ images }) => images.generate(FOX));
  await answer(1);
  const images = (await Promise.all(calls)).map((each) => imageOf(each).toString("base64"));
  expect(new Set(images).size).toBe(1);
  expect((await second.images.generate(FOX)).data).toHaveLength(1);
  expect(count()).toBe(1);
});

it("equal requests of clients that count no retries are two without it", async () => {
  const { first, second, answer, count } = await two();
  const calls = [first, second].map(({ images }) => images.generate(FOX));
  for (const number of [1, 2]) await answer(number);
  await Promise.all(calls);
  expect(count()).toBe(2);
});
