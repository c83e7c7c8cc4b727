import { describe, expect, it } from "vitest";
import { refusedSubmit } from "../../src/api/api-errors.ts";
import { describeFailure } from "../../src/client/failure.ts";
import { COMMAND_VOCABULARY } from "../../src/lib/wording.ts";

describe("the service's refusal", () => {
  it.each([
    ["login_required", "auth_required"],
    ["image_generation.error.empty_prompt", "invalid_request"],
    ["image_generation.error.prompt_too_long", "invalid_request"],
    ["my_credits.no_credits_description", "insufficient_credits"],
    ["image_generation.error.generation_failed", "generation_failed"],
    ["image_generation.error.unknown_error", "service_error"],
    ["SUBSCRIPTION_REQUIRED", "subscription_required"],
    ["some.new.key", "service_error"],
    ["toString", "service_error"],
    ["__proto__", "service_error"],
  ])("with the key %s is %s, and keeps the key", (key, type) => {
    expect(refusedSubmit(key, 200, "no")).toMatchObject({ type, key, charged: "no" });
  });

  it("with an unknown key shows it", () => {
    expect(refusedSubmit("some.new.key", 200, "no").message).toContain("some.new.key");
  });

  it.each([
    [400, "invalid_request"],
    [401, "auth_required"],
    [403, "service_error"],
    [404, "invalid_request"],
    [413, "invalid_request"],
    [422, "invalid_request"],
    [418, "service_error"],
    [429, "service_error"],
  ])("with HTTP %i alone is %s, and names the status", (status, type) => {
    const error = refusedSubmit(null, status, "no");
    expect(error).toMatchObject({ type, key: null, charged: "no" });
    expect(error.message).toContain(`HTTP ${status}`);
  });

  it.each([
    ["my_credits.no_credits_description", 400, "insufficient_credits"],
    ["login_required", 404, "auth_required"],
    ["SUBSCRIPTION_REQUIRED", 403, "subscription_required"],
    ["some.new.key", 401, "auth_required"],
    ["some.new.key", 422, "invalid_request"],
    ["some.new.key", 403, "service_error"],
  ])("with the key %s and HTTP %i is %s: a known key counts first", (key, status, type) => {
    expect(refusedSubmit(key, status, "no")).toMatchObject({ type, key });
  });

  it("with HTTP 404 asks for the base URL only where no error key shows that the service itself answered", () => {
    const asked = /Is the base URL right/;
    expect(describeFailure(refusedSubmit(null, 404, "no"), COMMAND_VOCABULARY).error.hint).toMatch(asked);
    const { error: refused } = describeFailure(refusedSubmit("some.new.key", 404, "no"), COMMAND_VOCABULARY);
    expect(refused.message).not.toContain("address");
    expect(refused.hint).not.toMatch(asked);
  });

  it("carries what the caller knows of its cost", () => {
    expect(refusedSubmit("login_required", 200, "yes").charged).toBe("yes");
  });
});
