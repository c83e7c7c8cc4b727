import { connect, createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { accepts, batchWorld, foxes } from "../../support/batch-world.ts";
import { deadPort } from "../../support/live-server.ts";
import { quickClock } from "../../support/quick-clock.ts";

const BATCH = ["batch", "p.txt", "-m", "z-image", "-o", "out", "--yes"];

/** Listens on a port until the test is over, and passes everything on to another. */
async function bridge(port: number, to: number): Promise<void> {
  const server = createServer((socket) => {
    const through = connect(to, "127.0.0.1");
    for (const each of [socket, through]) each.on("error", () => {});
    socket.pipe(through).pipe(socket);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
}

describe("a service that is down", () => {
  it("is waited for: what was never sent is sent when it is back, and no row is lost", async () => {
    const world = await batchWorld({ submit: accepts });
    const port = await deadPort();
    await world.manifest("p.txt", "a fox");
    const env = { IMGGEN_BASE_URL: `http://127.0.0.1:${port}/api` };
    let isBack = false;
    const onStderr = (text: string) => {
      if (isBack || !text.includes("Submitting is paused")) return;
      isBack = true;
      void bridge(port, world.server.port);
    };
    const { code, stderr } = await world.run(BATCH, { env, onStderr });
    expect(stderr).toContain("Submitting is paused");
    expect(stderr).toContain("The service is back.");
    expect(code).toBe(0);
  });

  it("and never was up is given up soon: nothing was sent, and the rows are new again", async () => {
    const world = await batchWorld();
    await world.manifest("p.txt", ...foxes(30));
    const env = { IMGGEN_BASE_URL: `http://127.0.0.1:${await deadPort()}/api` };
    const started = quickClock.monotonicMs();
    const { code, rows, summary } = await world.batchJson(BATCH.slice(1), { env });
    expect(quickClock.monotonicMs() - started).toBeLessThan(20_000);
    expect(code).toBe(10);
    expect(summary).toMatchObject({ rows: 30, failed: 30, notSent: 30, unknown: 0 });
    for (const row of rows)
      expect(row).toMatchObject({ ok: false, charged: "no", error: { type: "network" } });
  });
});
