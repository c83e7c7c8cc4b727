import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { type CommandWorld, commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";

const WORK_KEY = "sk-work-1234567890";
/** No account but the profiles': the environment would win over them. */

/** A world with a second service, and a profile `work` that is at it. */
async function worldWithProfile() {
  const world = await commandWorld();
  const work = await liveService(PICTURE);
  const login = ["login", "--profile", "work", "--base-url", work.baseUrl];
  const { code } = await world.run(login, { input: `${WORK_KEY}\n`, env: NO_ACCOUNT });
  expect(code).toBe(0);
  return { ...world, work };
}

const row = async ({ json }: CommandWorld, name: string, args: string[], env = {}) => {
  const { document } = await json(["config", "list", ...args], { env: { ...NO_ACCOUNT, ...env } });
  return Object.values(document).find((each) => String(each.name) === name);
};

describe("a profile", () => {
  it("is made by login, and has a key, a base URL and defaults of its own", async () => {
    const world = await worldWithProfile();
    const set = ["config", "set", "model", "z-image", "--profile", "work"];
    expect((await world.run(set, { env: NO_ACCOUNT })).code).toBe(0);
    expect(await row(world, "model", ["--profile", "work"])).toMatchObject({
      value: "z-image",
      source: "config",
    });
    expect(await row(world, "model", [])).toMatchObject({ source: "default" });
    expect(await row(world, "baseUrl", [])).toMatchObject({ value: null });
  });

  it("is chosen by flag before environment, and config list shows which is in use", async () => {
    const world = await worldWithProfile();
    expect(await row(world, "profile", [])).toMatchObject({ value: null, source: "default" });
    const env = { IMGGEN_PROFILE: "work" };
    expect(await row(world, "profile", [], env)).toMatchObject({ value: "work", source: "environment" });
    await world.run(["login", "--profile", "home", "--base-url", world.server.baseUrl, "--no-verify"], {
      input: "sk-home-1234567890\n",
    });
    expect(await row(world, "profile", ["--profile", "home"], env)).toMatchObject({
      value: "home",
      source: "flag",
    });
  });

  it("is what a request goes to, with its key", async () => {
    const world = await worldWithProfile();
    const before = world.server.requests.length;
    const { code } = await world.run(["--profile", "work", "generate", "a fox"], { env: NO_ACCOUNT });
    expect([code, world.work.submits().length, world.server.requests.length]).toEqual([0, 1, before]);
    expect(world.work.submits()[0]?.headers.authorization).toBe(`Bearer ${WORK_KEY}`);
  });

  it("need not be named to resume its tasks, and each key goes to its own service alone", async () => {
    const world = await worldWithProfile();
    await world.run(["generate", "a fox", "--no-wait", "--profile", "work"], { env: NO_ACCOUNT });
    await world.run(["generate", "an owl", "--no-wait"]);
    const { code, stderr } = await world.run(["resume"]);
    expect([code, stderr]).toEqual([0, expect.not.stringContaining("error")]);
    const keys = (requests: { headers: { authorization?: string | undefined } }[]) =>
      new Set(requests.map(({ headers }) => headers.authorization).filter((each) => each !== undefined));
    expect(keys(world.work.requests)).toEqual(new Set([`Bearer ${WORK_KEY}`]));
    expect([...keys(world.server.requests)]).not.toContain(`Bearer ${WORK_KEY}`);
  });

  it("that does not exist is refused by every command but login, and nothing is made or sent", async () => {
    const world = await worldWithProfile();
    const commands = [
      ["generate", "a fox"],
      ["config", "list"],
      ["config", "set", "model", "z-image"],
      ["logout"],
    ];
    for (const args of commands) {
      const { code, stderr } = await world.run([...args, "--profile", "wrok"], { env: NO_ACCOUNT });
      expect([args[0], code, stderr]).toEqual([
        args[0],
        2,
        'error: There is no profile "wrok" (--profile).\n  To make it: imggen login --profile wrok --base-url <url>\n  Profiles: work.\n',
      ]);
    }
    expect((await world.listing()).filter((file) => file.includes("wrok"))).toEqual([]);
    expect(world.server.submits()).toEqual([]);
  });

  it("with a damaged file is no reason to lose another account's task", async () => {
    const world = await commandWorld();
    const folder = path.join(world.home, "config", "profiles", "broken");
    await mkdir(folder, { recursive: true });
    await writeFile(path.join(folder, "config.json"), "{");
    await world.run(["generate", "a fox", "--no-wait"]);
    const { code, stderr } = await world.run(["resume"], { env: { IMGGEN_API_KEY: "sk-other-1234567890" } });
    expect([code, stderr]).toEqual([2, expect.stringContaining("was submitted with another API key")]);
    expect((await world.run(["resume"])).code).toBe(0);
  });
});
