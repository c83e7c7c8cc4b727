import { expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";

it.each([
  [["--json"]],
  [["generate", "--json", "--no-such-flag"]],
  [["--json", "generate", "a", "b"]],
  [["generate", "a fox", "--model", "--json"]],
  [["no-such-command", "--json"]],
  [["status", "--json", "--timeout"]],
  [["config", "--json", "get"]],
  [["config", "--json", "frobnicate"]],
])("a usage error of %j is one JSON document, and standard error stays empty", async (args) => {
  const world = await commandWorld();
  const { code, stdout, stderr } = await world.run(args, { input: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    ok: false,
    error: {
      type: "usage",
      key: null,
      message: expect.stringMatching(/\S/),
      hint: expect.any(String),
      exitCode: 2,
    },
    taskId: null,
    charged: "no",
    resume: null,
  });
  expect([code, stderr]).toEqual([2, ""]);
});

it.each([
  [["--help", "--json"]],
  [["--version", "--json"]],
  [["--json", "generate", "--help"]],
  [["help", "generate", "--json"]],
  [["config", "--help", "--json"]],
  [["config", "set", "--help", "--json"]],
])("%j is one JSON document that ends well", async (args) => {
  const world = await commandWorld();
  const { code, stdout, stderr } = await world.run(args);
  expect(JSON.parse(stdout)).toMatchObject({ ok: true });
  expect([code, stderr]).toEqual([0, ""]);
});

it("no base URL is exit 2 with both next steps, no key exit 3", async () => {
  const world = await commandWorld();
  const noUrl = await world.json(["generate", "a fox"], { env: { IMGGEN_BASE_URL: undefined } });
  expect(noUrl).toMatchObject({ code: 2, document: { error: { type: "usage" }, charged: "no" } });
  expect(noUrl.document.error?.hint).toMatch(/imggen login --base-url.*--sandbox/s);
  const noKey = await world.json(["generate", "a fox"], { env: { IMGGEN_API_KEY: undefined } });
  expect(noKey).toMatchObject({ code: 3, document: { error: { type: "auth_required" }, charged: "no" } });
  expect(world.server.requests).toEqual([]);
});

it("text that acts on a terminal is escaped in JSON, and parses to the same", async () => {
  const world = await commandWorld();
  const prompt = "a\u001b[31m \u202e \u009b \u200b fox";
  const { stdout } = await world.run(["generate", prompt, "--dry-run", "--json"]);
  expect(stdout).toMatch(/^[\x20-\x7e]+\n$/);
  expect(JSON.parse(stdout).request.prompt).toBe(prompt);
});
