import { expect, it } from "vitest";
import { NO_ACCOUNT } from "../support/command-world.ts";
import { CANARY, programWorld } from "../support/program-world.ts";
import { QUICK } from "../support/shell.ts";
import { servedBy } from "./image-server.ts";

const MODEL = ["-m", "z-image", ...QUICK];
const SANDBOX = [...MODEL, "--json", "--sandbox"];

it.each([
  ["", 0, null, { done: ["saved"] }],
  ["[sandbox:slow=30s]", 6, "pending", { open: ["accepted"] }],
  ["[sandbox:fail]", 5, "generation_failed", { done: ["failed"] }],
  ["[sandbox:no-credits]", 4, "insufficient_credits", { done: ["refused"] }],
  ["[sandbox:subscription]", 4, "subscription_required", { done: ["refused"] }],
  ["[sandbox:429]", 0, null, { done: ["saved"] }],
  ["[sandbox:500]", 9, "outcome_unknown", { open: ["unknown"] }],
  ["[sandbox:drop]", 9, "outcome_unknown", { open: ["unknown"] }],
  ["[sandbox:truncate]", 8, "save_failed", { open: ["completed"] }],
  ["[sandbox:html]", 8, "save_failed", { open: ["completed"] }],
  ["[sandbox:expired]", 0, null, { done: ["saved"] }],
])(
  "the embedded sandbox, prompted with %j, charges nothing: exit %i, %s",
  async (directive, exit, type, ledger) => {
    const world = await programWorld(null);
    const timeout = exit === 6 ? ["--timeout", "1s"] : [];
    const run = await world.run(["generate", `a fox ${directive}`, ...SANDBOX, ...timeout]);
    expect(await world.aftermath(run)).toMatchObject({ exit, type, charged: "no", ...ledger });
    expect(await world.files()).toHaveLength(exit === 0 ? 1 : 0);
  },
);

it("says once a run which main noun the sandbox's painter does not know", async () => {
  const world = await programWorld(null);
  const manifest = await world.manifest(["an elephant in the desert", "a hippo", "a fox"]);
  const { code, stderr } = await world.run(["batch", manifest, ...MODEL, "--sandbox", "--concurrency", "1"]);
  expect(code).toBe(0);
  const said = 'The sandbox draws placeholders, and cannot draw "elephant".';
  expect(stderr.match(/^The sandbox draws .*$/gm)).toEqual([said]);
});

it("the embedded sandbox never sees the real key, needs none, and is found again by resume", async () => {
  const world = await programWorld(null, { IMGGEN_BASE_URL: "https://service.invalid/api" });
  const run = await world.run(["generate", "a fox", ...SANDBOX, "--no-wait"]);
  expect(await world.aftermath(run)).toMatchObject({ exit: 0, open: ["accepted"] });
  expect(JSON.stringify(await world.records("open"))).not.toContain(CANARY);
  const resumed = await world.afterResume([], { env: NO_ACCOUNT });
  expect(resumed).toMatchObject({ exit: 0, open: [], done: ["saved"] });
});

it("imggen sandbox prints a base URL and a key that work, until it is stopped", async () => {
  const world = await programWorld(null);
  const flags = ["--latency", "100ms", "--credits", "5"];
  const { program, end, baseUrl, apiKey } = await servedBy(world, ["sandbox", ...flags]);
  const env = { IMGGEN_BASE_URL: baseUrl, IMGGEN_API_KEY: apiKey };
  const gamma = ["generate", "a fox", "-m", "gamma-image-2", "-q", "1K", "--json", ...QUICK];
  for (const [exit, type] of [
    [0, null],
    [0, null],
    [4, "insufficient_credits"],
  ]) {
    expect(await world.aftermath(await world.run(gamma, { env }))).toMatchObject({ exit, type });
  }
  expect(await world.files()).toHaveLength(2);
  const basic = { ...env, IMGGEN_API_KEY: "sk-sandbox-basic" };
  const pro = ["generate", "a fox", "-m", "gamma-image-2-5-flare-text", "--json"];
  const refused = await world.aftermath(await world.run(pro, { env: basic }));
  expect(refused).toMatchObject({ exit: 4, type: "subscription_required" });
  program.kill("SIGTERM");
  expect((await end).code).toBe(143);
});

it("imggen sandbox keeps tasks between runs: what one served, the next one still has", async () => {
  const world = await programWorld(null);
  const first = await servedBy(world, ["sandbox"]);
  const env = { IMGGEN_BASE_URL: first.baseUrl, IMGGEN_API_KEY: first.apiKey };
  const run = await world.run(["generate", "a fox", ...MODEL, "--no-wait", "--json"], { env });
  const { taskId } = JSON.parse(run.stdout);
  first.program.kill("SIGINT");
  expect((await first.end).code).toBe(130);
  const again = await servedBy(world, ["sandbox", "--port", new URL(first.baseUrl).port]);
  expect(again.baseUrl).toBe(first.baseUrl);
  expect(await world.afterResume([taskId], { env })).toMatchObject({ exit: 0, done: ["saved"] });
});
