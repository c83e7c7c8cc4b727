import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { startSandbox } from "../../../src/sandbox/server.ts";
import { batchWorld, foxes } from "../../support/batch-world.ts";
import { commandWorld } from "../../support/command-world.ts";

const FOX = ["generate", "a fox", "-m", "gamma-image-2", "-q", "2K"];

/** Sets the balance of the sandbox below a home. */
async function setCredits(home: string, credits: number) {
  const sandbox = await startSandbox({ folder: path.join(home, "state", "sandbox"), credits });
  await sandbox.close();
}

describe("the embedded sandbox", () => {
  it("is refilled when it cannot pay, and says so once", async () => {
    const world = await commandWorld();
    await setCredits(world.home, 5);
    const run = (name: string) => world.run([...FOX, "--sandbox", "-o", name]);
    expect((await run("1.png")).stderr).not.toContain("refilled");
    const second = await run("2.png");
    expect(second.code).toBe(0);
    expect(
      second.stderr.match(/^The sandbox had too few credits left, and was refilled to 1000\.$/gm),
    ).toHaveLength(1);
    expect((await run("3.png")).stderr).not.toContain("refilled");
  });

  it("is refilled for a batch too, whose rows are paid for at once", async () => {
    const world = await batchWorld();
    await setCredits(world.home, 5);
    await world.manifest("p.txt", ...foxes(8));
    const batch = ["batch", "p.txt", "-m", "gamma-image-2", "-q", "2K", "--sandbox", "--concurrency", "8"];
    const { code, stderr } = await world.run([...batch, "--yes"]);
    expect(stderr).toMatch(/^8 rows: 8 saved\. The sandbox is free\.$/m);
    expect([code, stderr.match(/refilled to 1000/g)]).toEqual([0, ["refilled to 1000"]]);
  });

  it("warns once that its balances start again, if their file cannot be read", async () => {
    const world = await commandWorld();
    await setCredits(world.home, 5);
    await writeFile(path.join(world.home, "state", "sandbox", "accounts.json"), "{");
    const { code, stderr } = await world.run([...FOX, "--sandbox"]);
    expect([code, stderr.match(/^.*balances.*$/gm)]).toEqual([
      0,
      ["warning: The file of the sandbox's balances could not be read. Each account has 1000 credits again."],
    ]);
  });

  it("makes images that are free, never of unknown cost or charged", async () => {
    const world = await commandWorld();
    const { stderr } = await world.run(["generate", "a fox", "-m", "z-image", "--sandbox"]);
    expect(stderr).toMatch(/^Saved 1 image, .*, free \(sandbox\), /m);
    const failed = await world.run(["generate", "an owl [sandbox:fail]", "--sandbox"]);
    const lost = await world.run(["generate", "a hen [sandbox:500]", "--sandbox"]);
    for (const said of [stderr, failed.stderr, lost.stderr]) expect(said).not.toMatch(/charge|cost unknown/);
  });

  it("has no unknown cost in a table either", async () => {
    const world = await commandWorld();
    const compare = ["compare", "a fox", "-m", "z-image", "--sandbox"];
    const tables = [[...compare, "--dry-run"], compare, ["history", "--sandbox", "--summary"]];
    for (const args of tables)
      expect((await world.run(args)).stdout.split("\n")).toContainEqual(
        expect.stringMatching(/z-image .*\bfree\b/),
      );
  });

  it("keeps to itself under --quiet that it was refilled", async () => {
    const world = await commandWorld();
    await setCredits(world.home, 0);
    expect(await world.run([...FOX, "--sandbox", "--quiet"])).toMatchObject({ code: 0, stderr: "" });
  });
});

describe("a sandbox that was started by itself", () => {
  async function emptySandbox(home: string) {
    const sandbox = await startSandbox({ folder: path.join(home, "served"), credits: 1 });
    onTestFinished(() => sandbox.close());
    return { IMGGEN_BASE_URL: sandbox.baseUrl, IMGGEN_API_KEY: "sk-sandbox" };
  }

  it("keeps its balance, and reports how to raise it", async () => {
    const world = await commandWorld();
    const env = await emptySandbox(world.home);
    const { code, document } = await world.json(FOX, { env });
    expect({ code, charged: document.charged }).toEqual({ code: 4, charged: "no" });
    expect(document.error?.hint).toContain("imggen sandbox --credits 1000");
  });

  it("reports the same for a batch", async () => {
    const world = await batchWorld();
    const env = await emptySandbox(world.home);
    await world.manifest("p.txt", "a fox", "a hare");
    const { code, stderr } = await world.run(["batch", "p.txt", "-m", "gamma-image-2", "-q", "2K"], { env });
    expect(code).toBe(4);
    expect(stderr).toContain("Stopped: The account has too few credits for this request.\n");
    expect(stderr).toContain("To give the sandbox more credits: imggen sandbox --credits 1000\n");
  });
});

it("another account that cannot pay is told to add credits", async () => {
  const world = await commandWorld();
  const sandbox = await startSandbox({ folder: path.join(world.home, "served"), credits: 1 });
  onTestFinished(() => sandbox.close());
  const { document } = await world.json(FOX, { env: { IMGGEN_BASE_URL: sandbox.baseUrl } });
  expect(document.error?.hint).toContain("Add credits to the account");
  expect(document.error?.hint).not.toContain("sandbox");
});
