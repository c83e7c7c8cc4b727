import { describe, expect, it } from "vitest";
import { checkRequest as checkOf } from "../../../src/models/check-request.ts";
import { MODELS } from "../../../src/models/matrix.ts";
import { words } from "../../support/words.ts";
import { checkRequest } from "../built-in.ts";
import { ALL_QUALITIES, DOCUMENT, neededImages } from "../document.ts";
import { refusalOf } from "../refusal.ts";

describe("the quality", () => {
  it.each(DOCUMENT)("of $id is one of its own, in any case", (row) => {
    const input = { model: row.id, image: neededImages(row) };
    const allowed = row.qualities === null ? ALL_QUALITIES : words(row.qualities);
    for (const quality of ALL_QUALITIES) {
      for (const spelling of [quality, quality.toUpperCase(), quality.toLowerCase()]) {
        if (allowed.includes(quality)) {
          const { request } = checkRequest({ ...input, prompt: "a fox", quality: spelling });
          expect(request.quality).toBe(quality);
        } else {
          const takes = allowed.length === 0 ? "takes no quality" : `takes only ${allowed.join(", ")}`;
          expect(refusalOf({ ...input, quality: spelling }).message).toBe(
            `--quality ${spelling}: ${row.id} ${takes}`,
          );
        }
      }
    }
  });

  it.each(["", "8K", "hd", "1 K", "default"])(
    "that the field does not have is refused for every model: %j",
    (quality) => {
      for (const row of DOCUMENT) {
        const { message, hint } = refusalOf({ model: row.id, image: neededImages(row), quality });
        expect(message).toContain("is not a quality of the service");
        expect(hint).toBe("Use one of basic, high, 1K, 2K, 4K");
      }
    },
  );

  it("that is refused brings up the models that take it", () => {
    expect(refusalOf({ quality: "high" }).hint).toBe(
      "Models that take high: vendor2/beta-v4.5, beta/4.5-text-to-image, beta/4.5-edit, vendor2/beta-v5.0",
    );
    expect(refusalOf({ model: "beta-v4", quality: "2k" }).hint).toMatch(
      /^Leave it out; models that take 2K: vendor1\/alpha-pro, vendor1\/alpha-2, gamma-image-2, /,
    );
  });

  it.each(["vendor2/beta-v4", "gamma-image-2"])(
    "that is refused names no model where no other takes it: %s",
    (model) => {
      const only = MODELS.filter(({ id }) => id === model).map((each) => ({ ...each, qualities: [] }));
      const refused = expect(() => checkOf({ prompt: "a fox", model, quality: "high" }, only));
      refused.toThrow(
        expect.objectContaining({ hint: expect.stringMatching(/^Leave it out(?!.*take high)/) }),
      );
    },
  );
});
