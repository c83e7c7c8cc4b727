import { existsSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { PICTURE } from "../support/images.ts";
import { liveService } from "../support/live-server.ts";
import { runProgram } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** A home for several screens, with an account at a service. */
async function account() {
  const server = await liveService(PICTURE);
  const home = path.join(await temporaryFolder(), "home");
  const env = { IMGGEN_BASE_URL: server.baseUrl, IMGGEN_API_KEY: "sk-paid", IMGGEN_HOME: home };
  return { server, home, env, setup: { columns: 100, env } };
}

const QUESTION = /^The price of vendor1\/alpha-2 is not documented\. Submit\? \[y\/N\]$/m;

describe.skipIf(!hasScreen)("a question on a real terminal", () => {
  it("about a price that is not documented: y submits, and it is not asked again", async () => {
    const { server, setup } = await account();
    const screen = await Screen.start(["generate"], setup);
    await screen.shows(/^Prompt:$/m);
    await screen.type("a fox", "Enter");
    await screen.shows(QUESTION);
    expect(server.submits()).toEqual([]);
    await screen.type("y", "Enter");
    expect(await screen.end()).toBe(0);
    expect((await screen.lines()).join("\n")).toMatch(/Submit\? \[y\/N\] y\n✓ Saved a-fox-/);
    const again = await Screen.after(["generate", "an owl"], setup);
    expect(again).toEqual([expect.stringMatching(/^✓ Saved an-owl-/)]);
    expect(server.submits()).toHaveLength(2);
  });

  it.each([
    ["Enter", ["Enter"], 2, /^error: The cost was not confirmed/],
    ["n", ["n", "Enter"], 2, /^error: The cost was not confirmed/],
    ["Ctrl-D", ["C-d"], 2, /^error: The cost was not confirmed/],
    ["Ctrl-C", ["C-c"], 130, /^Interrupted/],
  ])(
    "about a price that is not documented: %s ends it, and nothing is sent or stored",
    async (_key, keys, code, said) => {
      const { server, home, setup } = await account();
      const screen = await Screen.start(["generate", "a fox"], setup);
      await screen.shows(QUESTION);
      await screen.type(...keys);
      expect(await screen.end()).toBe(code);
      expect((await screen.lines())[1]).toMatch(said);
      expect(server.submits()).toEqual([]);
      for (const place of ["tasks/open", "tasks/done", "agreed-prices"])
        expect(existsSync(path.join(home, "state", place))).toBe(false);
    },
  );

  it.each([
    ["Enter", ["Enter"], { model: "gamma-image-2", quality: "1K" }],
    ["y", ["y", "Enter"], { model: "gamma-image-2", quality: "1K" }],
    ["n", ["n", "Enter"], {}],
    ["Ctrl-D", ["C-d"], {}],
  ])("of login about the default model: %s", async (_key, keys, stored) => {
    const { setup, env } = await account();
    const settings = async () => {
      const { stdout } = await runProgram(["config", "list", "--json"], { env });
      const list: { name: string; value: string | null; source: string }[] = JSON.parse(stdout);
      const ofProfile = list.filter(({ name }) => name === "model" || name === "quality");
      return Object.fromEntries(
        ofProfile.flatMap(({ name, value, source }) => (source === "config" ? [[name, value]] : [])),
      );
    };
    const screen = await Screen.start(["login"], setup);
    await screen.shows(/^API key for /m);
    await screen.type("sk-typed-in-secret", "Enter");
    await screen.shows(/^Use gamma-image-2 in 1K \(2 credits\) by default\? \[Y\/n\]$/m);
    await screen.type(...keys);
    expect(await screen.end()).toBe(0);
    expect(await settings()).toEqual(stored);
  });

  it.each([
    ["y", ["y", "Enter"], "1 task forgotten", 0],
    ["n", ["n", "Enter"], "0 tasks forgotten, 1 kept", 1],
    ["Enter", ["Enter"], "0 tasks forgotten, 1 kept", 1],
    ["Ctrl-D", ["C-d"], "0 tasks forgotten, 1 kept", 1],
  ])("of forget --before: %s", async (_key, keys, said, left) => {
    const { setup, env } = await account();
    const made = ["generate", "a fox", "--sandbox", "-o", path.join(env.IMGGEN_HOME, "fox.png")];
    expect((await runProgram(made, { env })).code).toBe(0);
    const screen = await Screen.start(["forget", "--before", "0m", "--sandbox"], setup);
    await screen.shows(/^Remove the records of 1 task\? \[y\/N\]$/m);
    await screen.type(...keys);
    expect(await screen.end()).toBe(0);
    expect((await screen.lines()).at(-1)).toBe(said);
    const { stdout } = await runProgram(["history", "--sandbox", "--json"], { env });
    expect(JSON.parse(stdout)).toHaveLength(left);
    expect(existsSync(path.join(env.IMGGEN_HOME, "fox.png"))).toBe(true);
  });
});
