import { describe, expect, it } from "vitest";
import { commandWorld } from "../../support/command-world.ts";

describe("models", () => {
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

  it.each([
    [["--ratio", "1x1"], "write it as 1:1"],
    [["--ratio", "banana"], "write it as width:height"],
    [["--quality", "3K"], "use one of basic, high, 1K, 2K, 4K"],
    [["--kind", "video"], "neither text nor edit"],
    [["--references", "x"], "not a whole number"],
    [["--references", "-1"], "not a whole number"],
  ])("refuses a filter that no model can match (%j)", async (flags, said) => {
    const world = await commandWorld();
    const { code, stdout, stderr } = await world.run(["models", ...flags]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr.toLowerCase()).toContain(said.toLowerCase());
  });

  it("names the nearest model to an unknown one", async () => {
    const world = await commandWorld();
    const { code, stderr } = await world.run(["models", "z-imag"]);
    expect(code).toBe(2);
    expect(stderr).toBe(
      'error: There is no model "z-imag"; the nearest is z-image.\n  Nothing was sent. To see all models: imggen models\n',
    );
  });

  it("names the models that may take a ratio that the document does not name", async () => {
    const world = await commandWorld();
    const { code, stderr } = await world.run(["models", "--ratio", "7:5"]);
    expect(code).toBe(0);
    expect(stderr).toContain("Not documented, so it may work: beta/5-lite-text-to-image,");
  });
});
