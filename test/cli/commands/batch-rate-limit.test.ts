import { describe, expect, it } from "vitest";
import { accepts, batchWorld } from "../../support/batch-world.ts";
import { quickMs } from "../../support/quick-clock.ts";
import { json } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning } from "../../support/scripts.ts";

const BATCH = ["batch", "p.txt", "-m", "z-image", "-o", "out", "--yes"];
const foxes = (count: number) => Array.from({ length: count }, (_, index) => `fox ${index}`);

describe("a service that answers 429", () => {
  it("is left alone by all rows for as long as it asks, and nothing is lost", async () => {
    const world = await batchWorld({
      submit: inTurn(replies(json({}, 429, { "retry-after": "1" })), accepts),
    });
    await world.manifest("p.txt", ...foxes(8));
    const { code } = await world.run([...BATCH, "--concurrency", "1"]);
    expect(code).toBe(0);
    const [first = 0, ...others] = world.server.requests.map(({ atMs }) => atMs);
    for (const atMs of others) expect(atMs - first).toBeGreaterThan(quickMs(990));
    expect(world.server.submits()).toHaveLength(9);
  });

  it("to a poll slows submits down as well", async () => {
    const world = await batchWorld({
      submit: accepts,
      poll: inTurn(replies(json({}, 429, { "retry-after": "1" })), completedAt("/1.png")),
    });
    await world.manifest("p.txt", ...foxes(3));
    expect((await world.run([...BATCH, "--concurrency", "1"])).code).toBe(0);
    const { requests } = world.server;
    const refusedAt = requests[1]?.atMs ?? 0;
    for (const { atMs } of requests.slice(2)) expect(atMs - refusedAt).toBeGreaterThan(quickMs(990));
  });

  it("asks for more patience than a wait has: the task stays charged and unfinished, at the wait's end", async () => {
    const tooLong = replies(json({}, 429, { "retry-after": "3600" }));
    const world = await batchWorld({
      submit: accepts,
      poll: inTurn(stillRunning, stillRunning, tooLong, stillRunning),
    });
    await world.manifest("p.txt", "a fox", "a hen");
    const started = performance.now();
    const { code, summary } = await world.batchJson([...BATCH.slice(1), "--timeout", "1s"]);
    expect(performance.now() - started).toBeLessThan(5_000);
    expect(code).toBe(10);
    expect(summary).toMatchObject({ pending: 2 });
    expect(world.server.requests.length).toBeLessThan(7);
  });
});
