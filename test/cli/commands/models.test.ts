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

  it("names the models that may take a ratio that the document does not name", async () => {
    const world = await commandWorld();
    const { code, stderr } = await world.run(["models", "--ratio", "7:5"]);
    expect(code).toBe(0);
    expect(stderr).toContain("Not documented, so it may work: beta/5-lite-text-to-image,");
  });
});
