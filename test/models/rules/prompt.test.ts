import { describe, expect, it } from "vitest";
import { checkRequest } from "../built-in.ts";
import { DOCUMENT, neededImages } from "../document.ts";
import { refusalOf } from "../refusal.ts";

describe("the prompt", () => {
  it.each(["", " ", "\n\t", "\u00a0\u3000", "\ufeff"])("is empty when blank: %j", (prompt) => {
    expect(refusalOf({ prompt }).message).toBe("The prompt is empty");
  });

  it.each([
    ["a\ud800", "lone surrogate", "character 2"],
    ["🦊\udc00!", "lone surrogate", "character 2"],
    ["fox\0", "NUL", "character 4"],
  ])("may not hold what JSON cannot carry: %j", (prompt, what, place) => {
    const { message } = refusalOf({ prompt });
    expect(message).toContain(what);
    expect(message).toContain(place);
  });

  it.each(DOCUMENT)("of $id may have $promptLimit characters and not one more", (row) => {
    const input = { model: row.id, image: neededImages(row) };
    const longest = "x".repeat(row.promptLimit);
    expect(checkRequest({ ...input, prompt: longest }).request.prompt).toBe(longest);
    const { message } = refusalOf({ ...input, prompt: `${longest}y` });
    expect(message).toBe(
      `The prompt has ${row.promptLimit + 1} characters, and ${row.id} takes at most ${row.promptLimit}`,
    );
  });

  it("that is too long brings up the models with room for it, and no others", () => {
    const gamma =
      "gamma-image-2, gamma-image-2-5-flare-text, gamma-image-2-5-flare-image, gamma-image-2-5-sunburst-text";
    const hint = (length: number) => refusalOf({ model: "z-image", prompt: "x".repeat(length) }).hint;
    expect(hint(10_000)).toContain(`use one of vendor1/alpha-2, ${gamma}`);
    expect(hint(20_000)).toContain(`use one of ${gamma}`);
    expect(hint(20_001)).toBe("Make it shorter; no model takes that many characters");
  });

  it("is counted in code points, with a warning where UTF-16 would count too many", () => {
    const fits = checkRequest({ model: "z-image", prompt: "🦊".repeat(1000) });
    expect(fits.warnings).toEqual([expect.stringMatching(/1000 characters, but 2000 .* at most 1000/)]);
    expect(checkRequest({ model: "z-image", prompt: "🦊".repeat(500) }).warnings).toEqual([]);
    expect(refusalOf({ model: "z-image", prompt: "🦊".repeat(1001) }).message).toContain("1001 characters");
  });
});
