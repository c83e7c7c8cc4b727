import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { commandWorld, NO_ACCOUNT, submitted } from "../../support/command-world.ts";
import { failure } from "../../support/scripted-server.ts";
import { completedAt, inTurn, replies, stillRunning } from "../../support/scripts.ts";
import { words } from "../../support/words.ts";

describe("generate", () => {
  it("sends prompt and model alone, where nothing else is set", async () => {
    const world = await commandWorld();
    expect((await world.run(["generate", "a fox"])).code).toBe(0);
    expect(submitted(world)).toEqual([{ prompt: "a fox", model: "vendor1/alpha-2" }]);
    const [submit] = world.server.submits();
    expect(submit?.target).toBe("/api/generate-image");
    expect(submit?.headers).toMatchObject({ "content-type": "application/json" });
    expect(submit?.headers.authorization).toMatch(/^Bearer sk-canary-/);
  });

  it("sends every field that a flag sets, short or long", async () => {
    const world = await commandWorld();
    const image = "https://example.com/a.png";
    for (const flags of [
      `-m gamma-image-2 -r 16:9 -q 2K -i ${image}`,
      "--model vendor2/beta-v4 --max-images 3 --ratio 3:2",
      `--model gamma-image-2 --image ${image} --image ${image}?2`,
    ])
      await world.run(words(`generate "a fox" ${flags}`));
    const [prompt, model] = ["a fox", "gamma-image-2"];
    const [first, second, third] = submitted(world);
    expect(first).toMatchObject({ model, ratio: "16:9", quality: "2K" });
    expect([first].flatMap((body) => (body as { image: unknown }).image)).toEqual([image]);
    expect(second).toEqual({ prompt, model: "vendor2/beta-v4", maxImages: 3, ratio: "3:2" });
    expect(third).toEqual({ prompt, model, image: [image, `${image}?2`] });
  });

  it("refuses an unknown model and names the nearest, unless validation is off", async () => {
    const world = await commandWorld();
    const { code, document } = await world.json(["generate", "a fox", "-m", "gamma-image-3"]);
    expect([code, document.error]).toMatchObject([2, { type: "invalid_request", exitCode: 2 }]);
    expect(`${document.error?.message}${document.error?.hint}`).toContain("gamma-image-2");
    expect(world.server.requests).toEqual([]);
    expect((await world.run(["generate", "a fox", "-m", "gamma-image-3", "--no-validate"])).code).toBe(0);
    expect(submitted(world)).toEqual([{ prompt: "a fox", model: "gamma-image-3" }]);
  });

  it("answers --json with exactly what became of the task", async () => {
    const world = await commandWorld({ poll: inTurn(stillRunning, completedAt("/1.png?signature=s3cret")) });
    const gamma = words('generate "a fox" -m gamma-image-2 -q 1K --poll-interval 100ms');
    const { code, document } = await world.json(gamma);
    expect(code).toBe(0);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/);
    const file = {
      ...{ path: path.join(world.cwd, "a-fox-task1.png"), mediaType: "image/png", width: 64, height: 48 },
      url: `${world.server.origin}/1.png?signature=s3cret`,
      ...{ bytes: expect.any(Number), sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
    };
    expect(document).toMatchObject({
      ...{ ok: true, taskId: "task-1", status: "completed", credits: 2, charged: "yes", files: [file] },
      request: { prompt: "a fox", model: "gamma-image-2", quality: "1K" },
      ...{ submittedAt: time, completedAt: time, elapsedMs: expect.any(Number), warnings: [] },
    });
  });

  it("answers a refusal with exactly what is known of it, a person with the service's own key under --verbose", async () => {
    const key = "my_credits.no_credits_description";
    const world = await commandWorld({ submit: replies(failure(key)) });
    const said = { message: expect.any(String), hint: expect.any(String) };
    expect(await world.json(["generate", "a fox"])).toMatchObject({
      code: 4,
      document: {
        error: { type: "insufficient_credits", key, ...said, exitCode: 4 },
        ...{ ok: false, taskId: null, charged: "no", resume: null },
      },
    });
    const plain = await world.run(["generate", "a fox"]);
    expect([plain.code, plain.stderr]).toEqual([4, expect.not.stringContaining(key)]);
    expect((await world.run(["generate", "a fox", "--verbose"])).stderr).toContain(` [${key}]`);
  });

  it("--no-wait returns with the id, before any poll", async () => {
    const world = await commandWorld();
    const document = { ok: true, taskId: "task-1", status: "submitted", files: [], charged: "yes" };
    expect(await world.json(["generate", "a fox", "--no-wait"])).toMatchObject({ code: 0, document });
    expect(world.server.requests).toHaveLength(1);
    expect((await world.run(["generate", "a cat", "--no-wait"])).stdout).toBe("task-2\n");
  });

  it("--timeout ends the wait as still running: exit 6, charged, and the command that picks it up", async () => {
    const world = await commandWorld({ poll: stillRunning });
    const error = { type: "pending", key: null, exitCode: 6 };
    expect(await world.json(["generate", "a fox", "--timeout", "150ms"])).toMatchObject({
      code: 6,
      document: { ok: false, error, taskId: "task-1", charged: "yes", resume: "imggen resume task-1" },
    });
    const plain = await world.run(["generate", "a cat", "--timeout", "1ms"]);
    expect(plain).toMatchObject({ stdout: "", stderr: expect.stringContaining("imggen resume task-2") });
  });

  it("--poll-interval polls at a fixed interval, and no faster than every 100 ms", async () => {
    const world = await commandWorld({ poll: inTurn(...Array(5).fill(stillRunning), completedAt("/1.png")) });
    expect((await world.run(["generate", "a fox", "--poll-interval", "99ms"])).code).toBe(2);
    expect(world.server.requests).toEqual([]);
    await world.run(["generate", "a fox", "--poll-interval", "120ms"], { clock: systemClock });
    const polls = world.server.requests.slice(1, 7).map(({ atMs }) => atMs);
    for (const [at, poll] of polls.slice(1).entries()) expect(poll - (polls[at] ?? 0)).toBeGreaterThan(110);
  });

  it("--max-credits refuses what costs more, or has no documented cost, before anything is sent", async () => {
    const world = await commandWorld();
    const gamma = ["generate", "a fox", "-m", "gamma-image-2", "-q", "4K"];
    const { code, document } = await world.json([...gamma, "--max-credits", "7"]);
    expect([code, document]).toMatchObject([2, { error: { type: "budget_exceeded" }, charged: "no" }]);
    const unknown = await world.json(["generate", "a fox", "-m", "z-image", "--max-credits", "100"]);
    expect([unknown.code, unknown.document]).toMatchObject([2, { error: { type: "budget_exceeded" } }]);
    expect(world.server.requests).toEqual([]);
    expect((await world.run([...gamma, "--max-credits", "8"])).code).toBe(0);
    const unchecked = ["generate", "a fox", "-m", "z-image", "--max-credits", "0", "--no-validate"];
    expect((await world.run(unchecked)).code).toBe(0);
  });

  it("shows the cost of gamma-image-2 without a quality as an estimate", async () => {
    const world = await commandWorld();
    const { document } = await world.json(["generate", "a fox", "-m", "gamma-image-2", "--dry-run"]);
    expect(document.credits).toBe(2);
    const bought = await world.json(["generate", "a fox", "-m", "gamma-image-2"]);
    expect(bought.document.warnings).toHaveLength(1);
  });
});

describe("generate --dry-run", () => {
  it("shows the request and its cost; needs no key, opens no connection, writes nothing", async () => {
    const world = await commandWorld();
    const before = await world.listing();
    const args = ["generate", "a fox", "-m", "gamma-image-2", "-q", "2K", "-o", "new/folder/", "--dry-run"];
    const bare = { env: NO_ACCOUNT };
    expect((await world.json(args, bare)).document).toEqual({
      ok: true,
      dryRun: true,
      request: { prompt: "a fox", model: "gamma-image-2", quality: "2K" },
      credits: 4,
    });
    const plain = await world.run(args, bare);
    expect(plain.code).toBe(0);
    expect(plain.stdout).toContain('"quality": "2K"');
    expect(plain.stdout).toContain("4 credits");
    await world.run(args);
    await world.run([...args, "--sandbox"]);
    expect(await world.listing()).toEqual(before);
    expect(world.server.requests).toEqual([]);
  });

  it("gives null where the document gives no cost, and refuses what generate would refuse", async () => {
    const world = await commandWorld();
    expect(
      (await world.json(["generate", "a fox", "-m", "z-image", "--dry-run"])).document.credits,
    ).toBeNull();
    expect((await world.run(["generate", "a fox", "-m", "z-image", "-q", "2K", "--dry-run"])).code).toBe(2);
    await writeFile(path.join(world.cwd, "fox.png"), "mine");
    expect((await world.run(["generate", "a fox", "-o", "fox.png", "--dry-run"])).code).toBe(2);
  });
});

describe("generate's output", () => {
  it("goes to the current folder, under the prompt's words and the task's id", async () => {
    const world = await commandWorld();
    const { stdout } = await world.run(["generate", "A Fox, jumping!  Ünïcode 狐"]);
    expect(stdout).toBe(`${world.cwd}/a-fox-jumping-ünïcode-狐-task1.png\n`);
  });

  it("--name fills in every placeholder", async () => {
    const { run } = await commandWorld();
    const name = "{slug}_{model}_{ratio}_{quality}_{task}_{index}_{date}_{time}.{ext}";
    const { stdout } = await run(words(`generate "a fox" -m gamma-image-2 -r 16:9 -q 1K --name ${name}`));
    expect(path.basename(stdout.trim())).toMatch(
      /^a-fox_gamma-image-2_16x9_1K_task1_1_\d{4}-\d\d-\d\d_\d{6}\.png$/,
    );
  });
});
