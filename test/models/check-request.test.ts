import { describe, expect, it } from "vitest";
import { InvalidRequestError } from "../../src/models/invalid-request.ts";
import { checkRequest } from "./built-in.ts";
import { DOCUMENT, neededImages } from "./document.ts";
import { refusalOf } from "./refusal.ts";

const FOX = "https://images.test/fox.png";
const OWL = "https://images.test/owl.png";

describe("a request on the wire", () => {
  it("has only a prompt and the default model where nothing else is set", () => {
    const request = { prompt: "a fox", model: "vendor1/alpha-2" };
    expect(checkRequest({ prompt: "a fox" })).toEqual({ request, credits: null, warnings: [] });
  });

  it("has its fields in one order, whatever the order they were set in", () => {
    const { request } = checkRequest({
      quality: "2k",
      maxImages: 1,
      image: [FOX, OWL],
      ratio: "16:9",
      model: "Gamma-Image-2",
      prompt: "a fox",
    });
    expect(JSON.stringify(request)).toBe(
      `{"prompt":"a fox","model":"gamma-image-2","ratio":"16:9","image":["${FOX}","${OWL}"],"maxImages":1,"quality":"2K"}`,
    );
  });

  it("has one reference image as a string, and none where the list is empty", () => {
    expect(checkRequest({ prompt: "a fox", image: [FOX] }).request.image).toBe(FOX);
    expect(checkRequest({ prompt: "a fox", image: [] }).request).not.toHaveProperty("image");
  });

  it("has the prompt as it was given, spaces and line breaks included", () => {
    expect(checkRequest({ prompt: "  a fox\n\tin snow 🦊 " }).request.prompt).toBe("  a fox\n\tin snow 🦊 ");
  });

  it.each(DOCUMENT)("names $id by its canonical id and holds it to its own row", (row) => {
    const { request, warnings } = checkRequest({
      prompt: "a fox",
      model: row.id.toUpperCase(),
      image: neededImages(row),
    });
    expect(request.model).toBe(row.id);
    expect(warnings).toHaveLength(["gamma-image-2", "vendor1/alpha"].includes(row.id) ? 1 : 0);
  });
});

describe("the price with a request", () => {
  it("is the documented one", () => {
    const draft = { prompt: "a fox", model: "gamma-image-2", quality: "4K" };
    expect(checkRequest(draft)).toMatchObject({ credits: 8, warnings: [] });
    expect(checkRequest({ prompt: "a fox", model: "delta-image", image: [FOX] }).credits).toBe(2);
  });

  it("comes with a warning where it is an estimate, with or without validation", () => {
    for (const validate of [true, false]) {
      const { credits, warnings } = checkRequest({ prompt: "a fox", model: "gamma-image-2" }, { validate });
      expect(credits).toBe(2);
      expect(warnings).toEqual([expect.stringContaining("is an estimate")]);
    }
  });
});

describe("a refusal", () => {
  it("is an invalid request, for which nothing was charged", () => {
    const check = () => checkRequest({ prompt: "" });
    expect(check).toThrow(InvalidRequestError);
    expect(check).toThrow(expect.objectContaining({ type: "invalid_request", charged: "no", key: null }));
  });

  it("names values by where they were set", () => {
    const labels = { ratio: "the configured ratio", prompt: "line 3", model: "IMGGEN_MODEL" };
    expect(refusalOf({ ratio: "9:21" }, { labels }).message).toMatch(/^The configured ratio 9:21: /);
    expect(refusalOf({ prompt: "" }, { labels }).message).toBe("Line 3 is empty");
    expect(refusalOf({ model: "nope" }, { labels }).message).toMatch(/^IMGGEN_MODEL nope is not /);
    expect(refusalOf({ quality: "8K" }, { labels }).message).toMatch(/^--quality 8K is not /);
  });

  it("fits in one line each for what is wrong and what to do", () => {
    const { message, hint } = refusalOf({ model: "m".repeat(5000) });
    expect(message.length).toBeLessThan(250);
    expect(`${message}${hint}`).not.toContain("\n");
  });
});

describe("without validation", () => {
  const unchecked = { validate: false };

  it("sends what no rule would let through, verbatim, and says so in one warning", () => {
    const wrong = { ratio: "16x9", quality: "8k", image: ["./fox.png", FOX], maxImages: 99 };
    const draft = { prompt: "a fox", model: "z-image", ...wrong };
    const { request, credits, warnings } = checkRequest(draft, unchecked);
    expect([request, credits, warnings.length]).toEqual([draft, null, 1]);
    for (const said of ["Validation is off", "--ratio 16x9", "--quality 8k", "--max-images 99", "--image"]) {
      expect(warnings[0]).toContain(said);
    }
  });

  it("sends an unknown model's name verbatim, at no known price", () => {
    const checked = checkRequest({ prompt: "a fox", model: "Vendor9/New", quality: "1k" }, unchecked);
    expect(checked.request).toEqual({ prompt: "a fox", model: "Vendor9/New", quality: "1k" });
    expect(checked.credits).toBeNull();
    expect(checked.warnings).toEqual([expect.stringContaining("--model Vendor9/New is not a known model")]);
  });

  it("still turns a known name into the canonical id, and prices it", () => {
    const checked = checkRequest({ prompt: "a fox", model: "DELTA-image", quality: "4K" }, unchecked);
    expect(checked.request.model).toBe("delta-Image");
    expect(checked.credits).toBe(2);
  });

  it("leaves nothing out for z-image and changes no spelling, without a warning where all would pass", () => {
    const request = { prompt: "a fox", model: "z-image", maxImages: 4 };
    expect(checkRequest(request, unchecked)).toEqual({ request, credits: null, warnings: [] });
    expect(checkRequest({ prompt: "a fox", quality: "2k" }, unchecked).request.quality).toBe("2k");
  });

  it("still refuses a blank prompt, of a known model or not", () => {
    expect(refusalOf({ prompt: " " }, unchecked).message).toBe("The prompt is empty");
    expect(refusalOf({ prompt: "", model: "nope" }, unchecked).message).toBe("The prompt is empty");
  });

  it("sends a prompt of any length", () => {
    const { request, warnings } = checkRequest({ prompt: "x".repeat(10_001) }, unchecked);
    expect(request.prompt).toHaveLength(10_001);
    expect(warnings).toEqual([expect.stringContaining("10001")]);
  });
});
