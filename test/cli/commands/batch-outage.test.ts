import { connect, createServer } from "node:net";
import { describe, expect, it, onTestFinished } from "vitest";
import { accepts, batchWorld } from "../../support/batch-world.ts";
import { deadPort } from "../../support/live-server.ts";

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
  it("is named at the first failure, where it is the user's own server, and was killed", async () => {
    const world = await batchWorld({});
    await world.manifest("p.txt", "a fox");
    const flags = ["--generator", `http://127.0.0.1:${await deadPort()}`];
    const { stderr } = await world.run([...BATCH, ...flags]);
    const [_plan, first] = stderr.split("\n");
    expect(first).toMatch(/^Submitting is paused: The generator at 127\.0\.0\.1:\d+ .* refused\.$/);
  });

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
});
