import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { keyFingerprint } from "../../../src/lib/fingerprint.ts";
import { answers, type ServiceForm } from "../../support/doubles/double.ts";
import { FAL } from "../../support/doubles/fal.ts";
import { REPLICATE } from "../../support/doubles/replicate.ts";
import { openTasks } from "../../support/left-task.ts";
import { paidService } from "../../support/paid-service.ts";

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
