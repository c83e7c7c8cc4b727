import { describe, expect, it } from "vitest";
import { MODELS } from "../../../src/models/matrix.ts";
import { commandWorld, NO_ACCOUNT } from "../../support/command-world.ts";
import { deadPort } from "../../support/live-server.ts";

describe("models", () => {
  it("lists the whole matrix, without an account", async () => {
    const world = await commandWorld();
    expect((await world.json(["models"], { env: NO_ACCOUNT })).document).toEqual(MODELS);
  });

  // Which models match: test/models/find.test.ts.
  it("answers which model can do this", async () => {
    const world = await commandWorld();
    const filters = ["--kind", "edit", "--quality", "4k", "--ratio", "16:9", "--references", "2"];
    const { document } = await world.json(["models", ...filters]);
    expect(document).toMatchObject([{ id: "vendor1/alpha-pro" }, { id: "gamma-image-2" }]);
  });

  it("shows one model, by any of its names", async () => {
    const world = await commandWorld();
    expect((await world.json(["models", "alpha-2"])).document).toMatchObject([{ id: "vendor1/alpha-2" }]);
    expect((await world.run(["models", "Z-Image"])).stdout).toContain("z-image");
  });

  it.each([
    [80, "MODEL KIND RATIOS QUALITIES IMAGES REFS CREDITS"],
    [72, "MODEL KIND QUALITIES IMAGES REFS CREDITS"],
    [64, "MODEL KIND QUALITIES IMAGES CREDITS"],
    [63, "MODEL KIND QUALITIES REFS CREDITS"],
    [60, "MODEL KIND QUALITIES CREDITS"],
  ])("in %d columns leaves out no column that there is room for: %s", async (columns, headings) => {
    const world = await commandWorld();
    const { stdout } = await world.run(["models"], { terminal: true, columns, env: { NO_COLOR: "1" } });
    expect(stdout.split("\n")[0]?.split(/ +/).join(" ")).toBe(headings);
  });

  it("names the models that may take a ratio that the document does not name", async () => {
    const world = await commandWorld();
    const { code, stderr } = await world.run(["models", "--ratio", "7:5"]);
    expect(code).toBe(0);
    expect(stderr).toContain("Undocumented models that may match: beta/5-lite-text-to-image,");
  });

  it("of OpenAI are its own; the service's names for them are accepted, and in no list", async () => {
    const world = await commandWorld();
    const env = { ...NO_ACCOUNT, HTTPS_PROXY: `http://127.0.0.1:${await deadPort()}` };
    const listed = await world.json(["models", "--generator", "openai"], { env });
    const ids = (listed.document as unknown as { id: string }[]).map(({ id }) => id);
    expect(ids).toContain("gpt-image-2");
    expect(ids.filter((id) => MODELS.some((model) => model.id === id))).toEqual([]);
    expect(listed.stderr).toContain("The model list of the generator cannot be shown.");
    const args = ["a fox", "--generator", "openai", "-m", "gamma-image-2", "--dry-run"];
    const { document } = await world.json(["generate", ...args], { env });
    expect(document.sent).toMatchObject({ body: { model: "gpt-image-2" } });
    const one = await world.run(["models", "gamma-image-2", "--generator", "openai"], { env });
    expect(one.stdout).toContain("OpenAI's name: gpt-image-2");
  });
});
