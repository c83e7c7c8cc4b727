import { expect, it } from "vitest";
import { unsupportedPart } from "../../../src/core/engine/jobs.ts";
import { NO_OPTIONS } from "../../../src/task/intent.ts";
import { FIELD_NAMES } from "../../../src/task/request-fields.ts";

const job = (request: object) => ({
  request: { prompt: "a red fox", model: "fox-1", ...request },
  isPaid: true,
  options: NO_OPTIONS,
  references: [],
});

it.each(["ratio", "quality", "seed"])(
  "a request with a %s is refused where the provider does not declare it",
  (name) => {
    const supports = FIELD_NAMES.filter((each) => each !== name);
    const request = { [name]: name === "seed" ? 7 : "auto" };
    expect(unsupportedPart(job(request), { supports })).toBe(
      `The generator does not support the field ${name}.`,
    );
    expect(unsupportedPart(job(request), { supports: FIELD_NAMES })).toBeNull();
  },
);

it("a provider's own check speaks where all fields are declared", () => {
  const check = () => "A model of fox is named fox-1.";
  expect(unsupportedPart(job({}), { supports: FIELD_NAMES, check })).toBe("A model of fox is named fox-1.");
});
