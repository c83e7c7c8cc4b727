import { describe, expect, it } from "vitest";
import { accepts, batchWorld, foxes } from "../../support/batch-world.ts";
import { quickMs } from "../../support/quick-clock.ts";
import { json } from "../../support/scripted-server.ts";
import { inTurn, replies } from "../../support/scripts.ts";

const BATCH = ["batch", "p.txt", "-m", "z-image", "-o", "out", "--yes"];

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
});
