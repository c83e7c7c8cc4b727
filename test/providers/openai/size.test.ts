import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { sizeFields } from "../../../src/providers/openai/size.ts";
import { holds } from "../../support/holds.ts";
import { expectPublished } from "./published-fields.ts";

const px = fc.integer({ min: 1, max: 20_000 });
const plain = { ratio: undefined };

describe("a size", () => {
  it.each(["gpt-image-2", "gpt-image-2.5-flare", "gpt-image-1", "chatgpt-image-latest"])(
    "is always one that %s makes",
    (model) => {
      holds(
        fc.property(px, px, (width, height) => {
          const fields = sizeFields({ ...plain, size: { width, height } }, model, "WxH");
          expectPublished({ model, prompt: "a fox", ...fields }, "generations");
        }),
      );
    },
  );

  it.each([
    ["gpt-image-2", 1024, 1024, "1024x1024"],
    ["gpt-image-2", 2048, 2048, "2048x2048"],
    ["gpt-image-2", 4096, 4096, "2880x2880"],
    ["gpt-image-2", 3840, 2160, "3840x2160"],
    ["gpt-image-2", 4096, 2304, "3840x2160"],
    ["gpt-image-2", 1024, 576, "1088x608"],
    ["gpt-image-2", 1024, 128, "1408x480"],
    // The nearest of three.
    ["gpt-image-1", 1024, 1024, "1024x1024"],
    ["gpt-image-1", 1820, 1024, "1536x1024"],
    ["gpt-image-1", 768, 1024, "1024x1536"],
    ["gpt-image-1", 900, 1024, "1024x1024"],
  ])("for %s of %i × %i is %s", (model, width, height, size) => {
    expect(sizeFields({ ...plain, size: { width, height } }, model, "WxH")).toEqual({ size });
  });

  const wide = { ratio: "16:9", size: { width: 2048, height: 1152 } };

  it("of another server's model is the job's own", () => {
    expect(sizeFields(wide, "flux", "WxH")).toEqual({ size: "2048x1152" });
    expect(sizeFields(wide, null, "width,height")).toEqual({ width: 2048, height: 1152 });
    expect(sizeFields(wide, null, "aspect_ratio")).toEqual({ aspect_ratio: "16:9" });
  });

  it("is left to the server where the job has no ratio, or to OpenAI where it is auto", () => {
    expect(sizeFields({ ...wide, ratio: undefined }, null, "aspect_ratio")).toEqual({});
    expect(sizeFields({ ...wide, ratio: "auto" }, "gpt-image-2", "WxH")).toEqual({ size: "auto" });
    for (const form of ["WxH", "width,height"] as const)
      expect(sizeFields({ ...plain, size: null }, null, form)).toEqual({});
  });
});
