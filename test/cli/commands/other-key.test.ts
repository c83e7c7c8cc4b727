import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { keyFingerprint } from "../../../src/lib/fingerprint.ts";
import { answers, type ServiceForm } from "../../support/doubles/double.ts";
import { FAL } from "../../support/doubles/fal.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";
import type { Behaviour } from "../../support/scripted-server.ts";

const OTHER = { IMGGEN_GENERATOR_KEY: "secret-key-2" };

describe.each<[string, ServiceForm]>([
  ["fal", FAL],
  ["replicate", REPLICATE],
])("a job at %s", (_kind, form) => {
  it("is refused with another key than it was submitted with, unless that is accepted", async () => {
    const { json, generate, home, double } = await paidService(form);
    expect(await json([...generate, "--no-wait"])).toMatchObject({ code: 0 });
    const [id = ""] = await openTasks(home);
    const polls = double.requests.length;
    for (const command of ["resume", "status", "cancel"]) {
      const { code, document } = await json([command, id, "--generator-paid"], { env: OTHER });
      expect([command, code]).toEqual([command, 2]);
      expect(document.error?.message).toContain(keyFingerprint("secret-key-1"));
      expect(document.error?.message).toContain(keyFingerprint("secret-key-2"));
    }
    expect(double.requests.length).toBe(polls);
    expect(await json(["resume", id, "--yes", "--generator-paid"], { env: OTHER })).toMatchObject({
      code: 0,
    });
    expect(double.submits()).toHaveLength(1);
  });
});

describe("a job whose generator is no longer set", () => {
  const ELSEWHERE = { IMGGEN_GENERATOR: undefined };
  const left = async () => {
    const busy = answers(() => FAL.error(429, "wait"));
    const usual = answers(FAL.replies.poll ?? (() => Buffer.alloc(0)));
    const ready = { is: false };
    const poll: Behaviour = (request, socket) => (ready.is ? usual : busy)(request, socket);
    const world = await paidService(FAL, { poll });
    expect((await world.json([...world.generate, "--no-wait"])).code).toBe(0);
    const [id = ""] = await openTasks(world.home);
    ready.is = true;
    return { ...world, id };
  };

  it("is resumed with the key in the environment if that is its account's, as the printed command says", async () => {
    const { json, id, double } = await left();
    expect(await json(["status", id], { env: ELSEWHERE })).toMatchObject({ code: 0 });
    expect(await json(["resume", id], { env: ELSEWHERE })).toMatchObject({ code: 0 });
    const withKey = double.requests.filter(({ headers }) => /secret-key-1/.test(headers.authorization ?? ""));
    // The submit, and a poll of each command.
    expect(withKey.length).toBeGreaterThanOrEqual(3);
    expect(double.submits()).toHaveLength(1);
  });

  it("never gets another key of the environment", async () => {
    const { json, id, double } = await left();
    await json(["resume", id], { env: { ...ELSEWHERE, ...OTHER } });
    expect(JSON.stringify(double.requests.map(({ headers }) => headers))).not.toContain("secret-key-2");
  });
});

it("a job that runs on is asked for with the same key without a question", async () => {
  const { json, generate, home } = await paidService(FAL, { poll: answers(() => FAL.error(429, "wait")) });
  expect((await json([...generate, "--no-wait"])).code).toBe(0);
  const [id = ""] = await openTasks(home);
  expect((await json(["resume", id, "--timeout", "1s", "--generator-paid"])).code).toBe(6);
});

it("the day's limit is one for all keys of a provider", async () => {
  const { json, run, generate, double, cwd } = await paidService(FAL);
  const matrix = path.join(cwd, "models.json");
  await writeFile(matrix, JSON.stringify([{ id: FAL.model, credits: { default: 5 } }]));
  const prices = { IMGGEN_MATRIX: matrix };
  await run(["config", "set", "dailyCredits", "9"]);
  expect(await json(generate, { env: prices })).toMatchObject({ code: 0, document: { credits: 5 } });
  const [, , ...flags] = generate;
  const { code, document } = await json(["generate", "an owl", ...flags], { env: { ...prices, ...OTHER } });
  expect([code, document.error?.type]).toEqual([2, "budget_exceeded"]);
  expect(double.submits()).toHaveLength(1);
});

it("a row's job is refused with another key, unless --yes accepts it", async () => {
  const busy = answers(() => FAL.error(429, "wait"));
  const usual = answers(FAL.replies.poll ?? (() => Buffer.alloc(0)));
  let isReady = false;
  const poll: Behaviour = (request, socket) => (isReady ? usual : busy)(request, socket);
  const { run, double, cwd } = await paidService(FAL, { poll });
  const manifest = path.join(cwd, "rows.csv");
  await writeFile(manifest, "prompt\na fox\n");
  const batch = ["batch", manifest, "-m", FAL.model, "--generator-paid", "-o", path.join(cwd, "out")];
  expect((await run([...batch, "--timeout", "1s", "--yes"])).code).not.toBe(0);
  isReady = true;
  const { code, stdout, stderr } = await run(batch, { env: OTHER });
  expect(code).not.toBe(0);
  expect(stdout + stderr).toContain(keyFingerprint("secret-key-1"));
  expect(await run([...batch, "--yes"], { env: OTHER })).toMatchObject({ code: 0 });
  expect(double.submits()).toHaveLength(1);
});
