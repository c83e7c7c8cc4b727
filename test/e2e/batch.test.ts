import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { accepts, foxes, jsonLines } from "../support/batch-world.ts";
import { NO_ACCOUNT } from "../support/command-world.ts";
import { PICTURE } from "../support/images.ts";
import { finished } from "../support/program.ts";
import { serviceWorld } from "../support/program-world.ts";
import { completedAt, inTurn, late, stillRunning } from "../support/scripts.ts";
import { pause } from "../support/wait.ts";
import { words } from "../support/words.ts";

/** A world with a manifest in it. */
async function batchOf(prompts: readonly string[], ...lines: readonly string[]) {
  const { server, world } = await serviceWorld({
    submit: late(10, accepts),
    poll: inTurn(stillRunning, completedAt("/1.png")),
  });
  const manifest = await world.manifest([...prompts, ...lines]);
  const args = ["batch", manifest, ...words("-m z-image --yes --name {slug} --poll-interval 100ms --json")];
  return { server, world, args };
}

it("a batch that is killed again and again, and run again, submits no row twice and saves every one", async () => {
  const prompts = foxes(30);
  const { server, world, args } = await batchOf(prompts);
  for (const requests of [3, 12, 25]) {
    const before = server.requests.length;
    const program = world.start(args);
    const end = finished(program);
    while (server.requests.length - before < requests) await pause(2);
    program.kill("SIGKILL");
    expect((await end).signal).toBe("SIGKILL");
  }
  const lost = await world.run(args);
  const unknown = jsonLines(lost.stdout).filter(({ charged }) => String(charged) === "unknown");
  expect(lost.code).toBe(unknown.length === 0 ? 0 : 10);
  // At most what was in flight at each of the three kills, and each of them is named.
  expect(unknown.length).toBeLessThanOrEqual(12);
  expect(new Set(server.submits().map(({ body }) => body)).size).toBe(server.submits().length);
  const again = await world.run([...args, "--resubmit-unknown"]);
  expect(again.code, again.stderr).toBe(0);
  expect(server.submits().length).toBeLessThanOrEqual(30 + unknown.length);
  const files = (await readdir(world.out)).filter((name) => !name.startsWith("."));
  expect(files.toSorted()).toEqual(prompts.map((prompt) => `${prompt.replace(" ", "-")}.png`).toSorted());
  for (const file of files) expect(await readFile(path.join(world.out, file))).toEqual(PICTURE);
});

it("32 rows at once say nothing but what a batch has to say", async () => {
  const { world, args } = await batchOf(foxes(40));
  const { code, stderr } = await world.run([...args, "--concurrency", "32", "--quiet"]);
  expect([code, stderr]).toEqual([0, ""]);
});

it("a dry run of 5,000 rows checks every one of them, and a bad one at the end is found", async () => {
  const { server, world, args } = await batchOf(foxes(5_000));
  const dry = ["batch", args[1] ?? "", "-m", "gamma-image-2", "-q", "2K", "--dry-run"];
  const run = await world.run(dry, { env: NO_ACCOUNT });
  expect(run).toMatchObject({
    code: 0,
    stdout: "5000 rows, 5000 to submit: 20000 credits, nothing was sent\n",
  });
  const lines = jsonLines((await world.run([...dry, "--json"])).stdout);
  expect(lines.map(({ row }) => row).slice(0, -1)).toEqual(foxes(5_000).map((_, index) => index + 1));
  expect(server.requests).toEqual([]);
  const bad = await batchOf(foxes(5_000), "x".repeat(20_001));
  const refused = await bad.world.run(["batch", bad.args[1] ?? "", ...dry.slice(2)]);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("line 5001: ") });
});
