import { request } from "undici";
import { expect, it } from "vitest";
import { blackHole } from "../support/black-hole.ts";
import { programWorld } from "../support/program-world.ts";
import { served } from "./image-server.ts";

it("an address that accepts no connection is answered within 15 s, to each client that waits, with a key too", async ({
  skip,
}) => {
  const port = await blackHole();
  if (port === null) return skip("no port could be filled");
  const world = await programWorld(null);
  const { baseUrl, apiKey } = await served(world, `http://127.0.0.1:${port}`, ["--generator-paid"]);
  const ask = async (headers = {}) => {
    const since = performance.now();
    const url = `${new URL(baseUrl).origin}/v1/images/generations`;
    const all = { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers };
    const body = JSON.stringify({ prompt: "a fox" });
    const reply = await request(url, { method: "POST", headers: all, body });
    const { error } = (await reply.body.json()) as { error: { code: string } };
    return { status: reply.statusCode, code: error.code, isInTime: performance.now() - since < 15_000 };
  };
  const unreachable = { status: 503, code: "generator_unreachable", isInTime: true };
  const answers = await Promise.all([ask(), ask({ "idempotency-key": "k" }), ask()]);
  expect(answers).toEqual([unreachable, unreachable, unreachable]);
  expect(await ask({ "idempotency-key": "k" })).toEqual(unreachable);
  expect(JSON.parse((await world.run(["history", "--unfinished", "--json"])).stdout)).toEqual([]);
}, 60_000);
