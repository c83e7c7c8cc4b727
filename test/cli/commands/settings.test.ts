import path from "node:path";
import { describe, expect, it } from "vitest";
import { DEFAULT_MODEL } from "../../../src/models/matrix.ts";
import { SETTING_NAMES } from "../../../src/store/settings-table.ts";
import {
  type CommandWorld,
  commandWorld,
  NO_ACCOUNT,
  submitted,
  TEST_KEY,
} from "../../support/command-world.ts";
import { failure, json, response, success } from "../../support/scripted-server.ts";
import { completedAt, inTurn, reset, stillRunning } from "../../support/scripts.ts";
import { storedSettings, withConfig } from "../../support/settings-file.ts";

const gamma = { model: "gamma-image-2", ratio: "1:1", quality: "1K" };

describe("settings", () => {
  it("of the request: flag over environment over config over default", async () => {
    const world = await commandWorld();
    const request = async (args: string[], env = {}) =>
      (await world.json(["generate", "a fox", "--dry-run", ...args], { env })).document.request;
    expect(await request([])).toEqual({ prompt: "a fox", model: "vendor1/alpha-2" });
    await withConfig(world, gamma);
    expect(await request([])).toEqual({ prompt: "a fox", ...gamma });
    const env = { IMGGEN_MODEL: "vendor1/alpha-2" };
    expect(await request([], env)).toEqual({ prompt: "a fox", ...gamma, model: "vendor1/alpha-2" });
    expect(await request(["-m", "gamma-image-2", "-r", "16:9", "-q", "4K"], env)).toEqual({
      prompt: "a fox",
      model: "gamma-image-2",
      ratio: "16:9",
      quality: "4K",
    });
  });

  it("of the output: flag over environment over config over the current folder", async () => {
    const world = await commandWorld();
    const folderOf = async (args: string[], env = {}) => {
      const { stdout } = await world.run(["generate", "a fox", ...args], { env });
      return path.relative(world.cwd, path.dirname(stdout));
    };
    const env = { IMGGEN_OUTPUT: "from-env/" };
    expect(await folderOf([])).toBe("");
    await withConfig(world, { output: "from-config/" });
    expect(await folderOf([])).toBe("from-config");
    expect(await folderOf([], env)).toBe("from-env");
    expect(await folderOf(["-o", "from-flag/"], env)).toBe("from-flag");
  });

  it("of the time-out: flag over environment over config", async () => {
    const world = await commandWorld({ poll: stillRunning });
    const codeOf = async (args: string[], env = {}) =>
      (await world.run(["generate", "a fox", ...args], { env })).code;
    await withConfig(world, { timeout: "nonsense" });
    expect(await codeOf([])).toBe(2);
    expect(await codeOf([], { IMGGEN_TIMEOUT: "rubbish" })).toBe(2);
    expect(world.server.requests).toEqual([]);
    expect(await codeOf([], { IMGGEN_TIMEOUT: "1ms" })).toBe(6);
    expect(await codeOf(["--timeout", "1ms"], { IMGGEN_TIMEOUT: "rubbish" })).toBe(6);
  });

  it("of the account: environment over config", async () => {
    const world = await commandWorld();
    const other = await commandWorld();
    await withConfig(world, { apiKey: "sk-canary-from-the-config", baseUrl: other.server.baseUrl });
    await world.run(["generate", "a fox"]);
    expect(world.server.submits()[0]?.headers.authorization).toBe(`Bearer ${TEST_KEY}`);
    await world.run(["generate", "a fox"], { env: NO_ACCOUNT });
    expect(other.server.submits()[0]?.headers.authorization).toBe("Bearer sk-canary-from-the-config");
  });

  it("an empty variable is as good as none", async () => {
    const world = await commandWorld();
    const { document } = await world.json(["generate", "a fox", "--dry-run"], { env: { IMGGEN_MODEL: "" } });
    expect(document.request).toMatchObject({ model: "vendor1/alpha-2" });
  });
});

describe("config", () => {
  it("sets, gets, lists and unsets, saying where each value comes from", async () => {
    const world = await commandWorld();
    expect(await world.run(["config", "set", "model", "z-image"])).toMatchObject({ code: 0, stdout: "" });
    expect((await world.run(["config", "get", "model"])).stdout).toBe("z-image\n");
    const { stdout } = await world.run(["config", "list"], { env: { IMGGEN_OUTPUT: "pictures/" } });
    expect(stdout).toMatch(/^model +z-image +config$/m);
    expect(await world.run(["config"], { env: { IMGGEN_OUTPUT: "pictures/" } })).toMatchObject({ stdout });
    expect(stdout).toMatch(/^output +pictures\/ +environment$/m);
    expect(stdout).toMatch(/^ratio +\S+ +default$/m);
    await world.run(["config", "unset", "model"]);
    expect((await world.run(["config", "get", "model"])).stdout).not.toContain("z-image");
  });

  it("stores a model under its whole id", async () => {
    const { run } = await commandWorld();
    await run(["config", "set", "model", "ALPHA-2"]);
    expect((await run(["config", "get", "model"])).stdout).toBe("vendor1/alpha-2\n");
  });

  it("names every setting", async () => {
    const world = await commandWorld();
    const { document } = await world.json(["config", "list"]);
    const rows = Object.values(document);
    expect(rows.map(({ name }) => name)).toEqual(["profile", ...SETTING_NAMES]);
    expect(rows).toContainEqual({ name: "model", value: DEFAULT_MODEL, source: "default" });
  });

  it("never shows the key", async () => {
    const world = await commandWorld();
    await withConfig(world, { apiKey: "sk-canary-from-the-config-0123456789" });
    for (const env of [{}, { IMGGEN_API_KEY: undefined }]) {
      for (const args of [["list"], ["get", "apiKey"], ["list", "--json"], ["get", "apiKey", "--json"]]) {
        const { stdout, stderr } = await world.run(["config", ...args], { env });
        expect(stdout).toContain("sk-…");
        expect(stdout + stderr).not.toMatch(/from-the-config|canary/);
      }
    }
  });

  it("lists its subcommands as imggen lists its commands: in lower case, without full stops", async () => {
    const world = await commandWorld();
    const { stdout } = await world.run(["config", "--help"]);
    const [, list = ""] = /Commands:\n([\s\S]*?)\n\n/.exec(stdout) ?? [];
    expect(list.split("\n")).toHaveLength(6);
    for (const line of list.split("\n")) expect(line).toMatch(/^ {2}\w+( [<[]\w+[>\]])* {2,}[a-z][^.]*$/);
    expect(list).toContain("show help for a command");
    expect((await world.run(["config", "set", "--help"])).stdout).toContain("\nStore a setting.\n");
  });

  it("path shows where the settings are", async () => {
    const world = await commandWorld();
    expect((await world.run(["config", "path"])).stdout).toBe(`${world.home}/config/config.json\n`);
  });
});

describe("login", () => {
  const accepted = { env: NO_ACCOUNT };

  /** Logs in at the world's own service with what is piped in. */
  const pipe = (world: CommandWorld, input: string) =>
    world.json(["login", "--base-url", world.server.baseUrl], { ...accepted, input });

  it("stores the key of standard input and the base URL, after a check that costs nothing", async () => {
    const world = await commandWorld();
    const { baseUrl } = world.server;
    const apiKey = "sk-canary-a-new-key";
    const login = ["login", "--base-url", `${baseUrl}/`];
    const { code, document } = await world.json(login, { ...accepted, input: `${apiKey}\nsecond line` });
    expect([code, document.ok]).toEqual([0, true]);
    expect(await storedSettings(world)).toEqual({ apiKey, apiKeyBaseUrl: baseUrl, baseUrl });
    const asked = world.server.requests.map(({ method, headers }) => [method, headers.authorization]);
    expect(asked).toEqual([["GET", `Bearer ${apiKey}`]]);
    expect(JSON.stringify(document)).not.toContain("a-new-key");
  });

  it("asks on a terminal for the base URL where none is set, and says who has accepted the key", async () => {
    const world = await commandWorld();
    const terminal = { ...accepted, terminal: true, answer: "sk-canary-typed" };
    const answers = { "Base URL of the service: ": `${world.server.baseUrl}/` };
    const run = await world.run(["login"], { ...terminal, answers });
    expect(run.code).toBe(0);
    expect(run.stderr).toContain(`Key accepted by ${new URL(world.server.baseUrl).host}.\n`);
    expect((await storedSettings(world)).baseUrl).toBe(world.server.baseUrl);
    const refused = await world.run(["login"], { ...terminal, home: `${world.home}2` });
    expect(refused.code).toBe(2);
    expect(refused.stderr).toContain("No base URL is set");
  });

  it.each([
    ["the service refuses the key", 3, failure("login_required"), ""],
    ["the service cannot be asked", 7, reset, ""],
    [
      "another JSON API answers",
      5,
      json({ message: "Forbidden, sk-canary-new" }, 403),
      '(HTTP 403, {"message":"Forbidden, sk-…"})',
    ],
    [
      "a web page answers",
      5,
      response(404, "<html>"),
      "Is the base URL right? It must include the service's /api.",
    ],
    [
      "OpenAI's answers",
      5,
      json({ error: { message: "Invalid URL" } }, 404),
      "in OpenAI's style. To use it as your own generator: imggen login --generator",
    ],
    [
      "a service answers that knows every task",
      5,
      success({ status: "processing" }),
      "is not the service's API",
    ],
    ["one in trouble answers", 5, failure("image_generation.error.unknown_error", 503), "(HTTP 503, "],
  ])("stores nothing where %s: exit %i, with what came", async (_who, code, poll, said) => {
    const world = await commandWorld({ poll });
    const refused = await pipe(world, "sk-canary-new");
    expect(refused).toMatchObject({ code, document: { ok: false } });
    expect(`${refused.document.error?.message} ${refused.document.error?.hint}`).toContain(said);
    expect(await world.listing()).not.toContain("home/config/config.json");
  });

  const STORED = /Stored sk-…/;

  it.each([
    ["a wrong paste is asked for again", ["a password", "sk-canary-typed"], 0, STORED],
    ["an empty one ends it", ["a password", ""], 2, /No key was given/],
    ["three wrong ones end it", ["a password"], 2, /is not an API key/],
  ])("on a terminal: %s", async (_what, answer, code, said) => {
    const world = await commandWorld();
    const args = ["login", "--base-url", world.server.baseUrl];
    const run = await world.run(args, { ...accepted, terminal: true, answer });
    expect([run.code, run.stderr]).toEqual([code, expect.stringMatching(said)]);
    expect(run.stderr).toContain("This is not an API key");
  });

  it.each([
    ["Bearer sk-canary-typed", /a whole header: give the key alone/],
    ["Authorization: Bearer sk-canary-typed", /a whole header: give the key alone/],
    ['"sk-canary-typed"', /has quotes around it: give the key without them/],
    ["“sk-canary-typed”", /has quotes around it: give the key without them/],
    ["IMGGEN_API_KEY=sk-canary-typed", /begins with the name of a variable: give the key alone/],
  ])("%s is named for what it is", async (pasted, said) => {
    const world = await commandWorld();
    const { code, document } = await pipe(world, pasted);
    expect([code, document.error?.message]).toEqual([2, expect.stringMatching(said)]);
    expect(JSON.stringify(document)).not.toContain("canary");
  });

  it.each([
    [
      "https://example.com/api/generate-image",
      /operation of the service[\s\S]*Did you mean https:\/\/example\.com\/api\?/,
    ],
    [
      "https://example.com/v1/images/generations",
      /in OpenAI's style, not the service's[\s\S]*imggen login --generator https:\/\/example\.com\/v1$/m,
    ],
  ])("the address of an operation (%s) is answered with what is meant", async (address, said) => {
    const world = await commandWorld();
    const { code, stderr } = await world.run(["login", "--base-url", address], {
      ...accepted,
      input: "sk-canary",
    });
    expect([code, stderr]).toEqual([2, expect.stringMatching(said)]);
  });

  it("on a terminal shows the base URL that is set, and how to change it, and asks for the key of its host", async () => {
    const world = await commandWorld();
    const { baseUrl } = world.server;
    await world.run(["config", "set", "baseUrl", baseUrl], accepted);
    const questions: string[] = [];
    const onHiddenQuestion = (text: string) => questions.push(text);
    const typed = { ...accepted, terminal: true, answer: "sk-canary-typed", onHiddenQuestion };
    expect(await world.run(["login"], typed)).toMatchObject({
      code: 0,
      stderr: expect.stringContaining(
        `Base URL: ${baseUrl} (baseUrl from config.json). To change it: imggen login --base-url <url>\n`,
      ),
    });
    expect(questions).toEqual([`API key for ${new URL(baseUrl).host}: `]);
  });

  it("offers the scheme of an address without one, on a terminal for a new profile too", async () => {
    const world = await commandWorld();
    const bare = world.server.baseUrl.replace("http://", "");
    const piped = await world.run(["login", "--base-url", "example.com/api"], {
      ...accepted,
      input: "sk-canary",
    });
    expect([piped.code, piped.stderr]).toEqual([
      2,
      expect.stringContaining("Did you mean https://example.com/api?"),
    ]);
    const run = await world.run(["login", "--profile", "work"], {
      ...accepted,
      terminal: true,
      answer: "sk-canary-typed",
      answers: { "Base URL of the service: ": bare, [`Use http://${bare}? [Y/n] `]: "" },
    });
    expect([run.code, run.stderr]).toEqual([0, expect.stringMatching(STORED)]);
    const { document } = await world.json(["config", "get", "model", "--profile", "work"]);
    expect(document.value).toBe("gamma-image-2");
  });

  it("names the model to choose where the default one's cost is not documented", async () => {
    const world = await commandWorld();
    const login = async () =>
      (
        await world.run(["login", "--base-url", world.server.baseUrl], {
          ...accepted,
          input: "sk-canary-new",
        })
      ).stderr;
    expect(await login()).toMatch(
      /The cost of vendor1\/alpha-2 is not documented; gamma-image-2 costs 2 credits in 1K\.\n {2}To make gamma-image-2 your default: imggen config set model gamma-image-2\n {2}To make 1K your default quality: imggen config set quality 1K\n$/,
    );
    await world.run(["config", "set", "model", "gamma-image-2"]);
    await world.run(["config", "set", "quality", "1K"]);
    const { stderr } = await world.run(["generate", "a fox", "--dry-run"], accepted);
    expect(stderr).not.toContain("warning");
    expect(await login()).toMatch(/Stored .*\n$/);
  });

  it("logout removes both, and says what it removes and which variables still apply", async () => {
    const world = await commandWorld();
    await withConfig(world, {
      apiKey: "sk-canary-stored",
      baseUrl: "https://service.example/api",
      ratio: "1:1",
    });
    const { stderr, code } = await world.run(["logout"]);
    expect(code).toBe(0);
    const still = (name: string) => `warning: ${name} is still set in the environment and still used.`;
    expect(stderr.trim().split("\n")).toEqual([
      "Removed the API key and the base URL https://service.example/api.",
      still("IMGGEN_API_KEY"),
      still("IMGGEN_BASE_URL"),
    ]);
    expect(await storedSettings(world)).toEqual({ ratio: "1:1" });
    const env = { IMGGEN_API_KEY: undefined, IMGGEN_BASE_URL: undefined, IMGGEN_GENERATOR_KEY: "sesame" };
    expect(await world.run(["logout"], { env })).toMatchObject({
      code: 0,
      stderr: `Nothing to remove: no key, base URL or generator was stored.\n${still("IMGGEN_GENERATOR_KEY")}\n`,
    });
  });
});

it("settings that are read again and again are read without a write", async () => {
  const world = await commandWorld({ poll: inTurn(stillRunning, completedAt("/1.png")) });
  const before = await world.listing();
  await world.run(["config", "list"]);
  await world.run(["models"]);
  await world.run(["history"]);
  expect(await world.listing()).toEqual(before);
  expect(submitted(world)).toEqual([]);
});
