import { describe, expect, it } from "vitest";
import { checkRequest } from "../built-in.ts";
import { refusalOf } from "../refusal.ts";

describe("the model", () => {
  it("that is unknown is refused with the nearest ids and both next steps", () => {
    const { message, hint } = refusalOf({ model: "alpha-3" });
    expect(message).toMatch(/^--model alpha-3 is not a known model; the nearest are vendor1\/alpha-2, /);
    expect(hint).toContain("imggen models");
    expect(hint).toContain("--no-validate");
  });

  it("that is an empty name is refused, not taken for the default", () => {
    expect(refusalOf({ model: "" }).message).toContain('--model "" is not a known model');
  });

  it("that the document names without listing it passes with a warning", () => {
    const { request, warnings } = checkRequest({ prompt: "a fox", model: "alpha" });
    expect(request.model).toBe("vendor1/alpha");
    expect(warnings).toEqual([expect.stringContaining("not in the service's list of models")]);
  });
});
