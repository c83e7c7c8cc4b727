import { readFile, symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { COMMANDS } from "../../../src/cli/app/commands.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { failure } from "../../support/scripted-server.ts";
import { settingsFile } from "../../support/settings-file.ts";

describe("what is refused before anything is sent", () => {
  it.each(["?", "#", "?x=1"])("a base URL with %j in it", async (tail) => {
    const { run, server } = await commandWorld();
    const env = { IMGGEN_BASE_URL: `${server.baseUrl}${tail}` };
    expect((await run(["generate", "a fox"], { env })).code).toBe(2);
    expect(server.requests).toEqual([]);
  });

  it.each(["http://", "socks5://127.0.0.1:1", "::"])("a proxy that is none: %j", async (proxy) => {
    const { json, listing, server } = await commandWorld();
    const { code, document } = await json(["generate", "a fox"], { env: { HTTP_PROXY: proxy } });
    expect([code, document.error?.type, document.charged]).toEqual([2, "usage", "no"]);
    expect(server.requests).toEqual([]);
    expect((await listing()).filter((file) => file.endsWith(".jsonl"))).toEqual([]);
  });

  it("a link that leads nowhere, to be overwritten", async () => {
    const { run, cwd, server } = await commandWorld();
    await symlink("nowhere", path.join(cwd, "link.png"));
    expect((await run(["generate", "a fox", "--output", "link.png", "--overwrite"])).code).toBe(2);
    expect(server.requests).toEqual([]);
  });
});

describe("under --sandbox", () => {
  it.each(["status", "resume"])("%s of a real task never reaches the service", async (command) => {
    const { run, server } = await commandWorld();
    await run(["generate", "a fox", "--no-wait"]);
    const asked = server.requests.length;
    expect((await run([command, "task-1", "--sandbox"])).code).toBe(2);
    expect(server.requests).toHaveLength(asked);
  });
});

/** What each command is given, so that it gets as far as to read the profile. */
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  generate: ["a fox"],
  batch: ["rows.txt", "--yes"],
  compare: ["a fox", "--model", "z-image"],
  rerun: ["fox.png"],
  status: ["task-1"],
  cancel: ["task-1"],
  forget: ["task-1"],
  history: ["--model", "z-image"],
  show: ["fox.png"],
  login: ["--no-verify"],
  setup: ["--json"],
  config: ["set", "model", "z-image"],
  skill: ["install"],
  completion: ["bash"],
};

/** The global flags that a command refuses. */
const REFUSED: Readonly<Record<string, readonly string[]>> = {
  show: ["--profile"],
  gallery: ["--profile"],
  forget: ["--profile"],
  login: ["--sandbox"],
  logout: ["--sandbox"],
  config: ["--sandbox"],
  setup: ["--sandbox"],
  sandbox: ["--sandbox"],
  serve: ["--sandbox"],
  mcp: ["--json"],
  skill: ["--sandbox", "--profile"],
  completion: ["--sandbox", "--profile"],
};

describe("imggen", () => {
  /** A stored login, an image and a manifest, and a command with a global flag. */
  async function withFlag(name: string, ...flag: string[]) {
    const { run, server, home, cwd, listing } = await commandWorld();
    await run(["login", "--base-url", server.baseUrl], { env: NO_ACCOUNT, input: "sk-canary\n" });
    await run(["generate", "a fox", "--output", "fox.png"]);
    await writeFile(path.join(cwd, "rows.txt"), "a hen\n");
    const settings = () => readFile(settingsFile({ home }), "utf8");
    const state = async () => [await settings(), await listing(), server.requests.length];
    const before = await state();
    const { code, stdout, stderr } = await run([name, ...(ARGUMENTS[name] ?? []), ...flag], {
      env: NO_ACCOUNT,
      input: name === "login" ? "sk-canary\n" : "",
    });
    return { code, said: stdout + stderr, before, after: await state() };
  }

  const names = Object.keys(COMMANDS);
  const refuses = (name: string, flag: string) => REFUSED[name]?.includes(flag) === true;

  it.each(names)("%s refuses the global flags that it does not take, with nothing done", async (name) => {
    for (const flag of REFUSED[name] ?? []) {
      const words = flag === "--profile" ? [flag, "nope"] : [flag];
      const { code, said, before, after } = await withFlag(name, ...words);
      expect(said).toContain(`imggen ${name} does not support ${flag}. Nothing was done.`);
      expect([code, after]).toEqual([2, before]);
    }
    const { stdout: help } = await (await commandWorld()).run([name, "--help", "--all"]);
    for (const flag of ["--sandbox", "--profile", "--json", "--quiet", "--verbose", "--no-color"])
      expect([flag, help.includes(`  ${flag}`)]).toEqual([flag, !refuses(name, flag)]);
  });

  it.each(names.filter((name) => !refuses(name, "--profile")))("%s acts on --profile", async (name) => {
    expect((await withFlag(name, "--profile", "nope")).said).toMatch(/"nope"|profiles\/nope\//);
  });

  it.each(names.filter((name) => !refuses(name, "--sandbox")))(
    "%s --sandbox never reaches the service",
    async (name) => {
      const { before, after } = await withFlag(name, "--sandbox");
      expect(after[2]).toBe(before[2]);
    },
  );
});

describe("login --verbose", () => {
  it("logs the poll that checks the key, and not the key", async () => {
    const { run } = await commandWorld();
    const { code, stderr } = await run(["login", "--verbose"], { input: "sk-canary-1234567890\n" });
    expect(code).toBe(0);
    expect(stderr).toMatch(/^GET http:\/\/127\.0\.0\.1:\d+\/api\/generate-image\?…: 200, /);
    expect(stderr).not.toContain("canary");
  });
});

describe("a charged task whose poll is refused", () => {
  it.each([
    "my_credits.no_credits_description",
    "SUBSCRIPTION_REQUIRED",
    "image_generation.error.empty_prompt",
  ])("with %s is never said to have cost nothing", async (key) => {
    const poll = (_: unknown, socket: { write(bytes: Buffer): void }) => void socket.write(failure(key));
    const { json } = await commandWorld({ poll });
    const { document } = await json(["generate", "a fox"]);
    expect(document).toMatchObject({ charged: "yes", resume: "imggen resume task-1" });
    expect(document.error?.hint).toBe("It was charged. Resume with: imggen resume task-1");
  });
});
