import { describe, expect, test } from "vitest";
import { readBrief } from "../../../../src/sandbox/picture/brief/brief.ts";
import { LANDS } from "../../../../src/sandbox/picture/color/land.ts";
import { LIGHTS } from "../../../../src/sandbox/picture/color/light.ts";

describe("a prompt", () => {
  test("names subject, light and style", () => {
    const brief = readBrief("A Lighthouse at DUSK, oil painting", 0);
    expect(brief).toMatchObject({ subject: "lighthouse", setting: "sea", style: "oil", light: LIGHTS.dusk });
  });

  test("names setting, season and colour besides the subject", () => {
    const brief = readBrief("three red foxes in a snowy forest", 0);
    expect(brief).toMatchObject({ subject: "fox", setting: "forest", land: LANDS.winter });
    expect(brief.accent).toBeDefined();
  });

  test.each([
    ["a mountain lake", "lake"],
    ["cities of the future", "abstract"],
    ["skylines", "city"],
    ["wolves in the woods", "forest"],
    ["sandbox", "abstract"],
    ["[sandbox:slow=30s] xyzzy", "abstract"],
    ["", "abstract"],
  ])("%j is set in: %s", (prompt, setting) => {
    expect(readBrief(prompt, 0).setting).toBe(setting);
  });

  test.each([
    ["a watercolor painting of an oil rig", "watercolor"],
    ["a painting of a boat", "oil"],
    ["pencil drawing", "sketch"],
    ["pixel art", "pixels"],
    ["minimalist poster", "poster"],
    ["a boat", "plain"],
  ])("%j is painted in the style: %s", (prompt, style) => {
    expect(readBrief(prompt, 0).style).toBe(style);
  });
});
