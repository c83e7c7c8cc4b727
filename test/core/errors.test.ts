import { describe, expect, it } from "vitest";
import { describeWorker, OtherAccountError, requireSameAccount } from "../../src/core/errors.ts";
import { GENERATOR_KEY_ID } from "../../src/task/intent.ts";
import { identity } from "../support/some-processes.ts";

const OWN = { baseUrl: "https://api.example/api", keyId: "0123456789abcdef" };
const OTHER = { ...OWN, keyId: "fedcba9876543210" };
const AT_SERVICE = { service: OWN, taskId: null };
const AT_GENERATOR = { service: OWN, taskId: "task_1" };

describe("a task of another account", () => {
  it("is none where address and key are the same", () => {
    expect(() => requireSameAccount(AT_SERVICE, { ...OWN }, "t")).not.toThrow();
  });

  it("at another address is refused with the address that is needed", () => {
    const elsewhere = { ...OWN, baseUrl: "https://other.example/api" };
    const check = () => requireSameAccount(AT_SERVICE, elsewhere, "t");
    expect(check).toThrow(OtherAccountError);
    expect(check).toThrow(
      expect.objectContaining({ type: "usage", charged: "yes", hint: expect.stringContaining(OWN.baseUrl) }),
    );
  });

  it.each([
    [AT_SERVICE, "IMGGEN_API_KEY"],
    [AT_GENERATOR, "IMGGEN_GENERATOR_KEY"],
  ])("of another key is refused with both fingerprints, unless that is accepted", (task, variable) => {
    const check = (acceptsOtherKey: boolean) => requireSameAccount(task, OTHER, "t", acceptsOtherKey);
    expect(() => check(false)).toThrow(
      expect.objectContaining({ type: "usage", hint: expect.stringContaining(variable) }),
    );
    expect(() => check(false)).toThrow(/0123456789abcdef.*fedcba9876543210/);
    expect(() => check(true)).not.toThrow();
  });

  it("is none where a generator has no key, or had none", () => {
    const keyless = { ...OWN, keyId: GENERATOR_KEY_ID };
    expect(() => requireSameAccount(AT_GENERATOR, keyless, "t")).not.toThrow();
    expect(() => requireSameAccount({ ...AT_GENERATOR, service: keyless }, OWN, "t")).not.toThrow();
  });
});

it.each([
  ["Another process (pid 2)", identity(2)],
  ["Another call of this process", identity(1)],
  ["A process on host gpu-1 (pid 2)", identity(2, "gpu-1")],
  ["Another process", null],
])("%s is who works on a task", (said, worker) => {
  expect(describeWorker(worker, identity(1))).toBe(said);
});
