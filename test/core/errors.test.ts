import { describe, expect, it } from "vitest";
import { describeWorker, OtherAccountError, requireSameAccount } from "../../src/core/errors.ts";
import { identity } from "../support/some-processes.ts";

const OWN = { baseUrl: "https://api.example/api", keyId: "0123456789abcdef" };

describe("a task of another account", () => {
  it("is none where address and key are the same", () => {
    expect(() => requireSameAccount(OWN, { ...OWN }, "t")).not.toThrow();
  });

  it("at another address is refused with the address that is needed", () => {
    const elsewhere = { ...OWN, baseUrl: "https://other.example/api" };
    const check = () => requireSameAccount(OWN, elsewhere, "t");
    expect(check).toThrow(OtherAccountError);
    expect(check).toThrow(
      expect.objectContaining({ type: "usage", charged: "yes", hint: expect.stringContaining(OWN.baseUrl) }),
    );
  });

  it("of another key is refused, and neither key is shown", () => {
    const check = () => requireSameAccount(OWN, { ...OWN, keyId: "fedcba9876543210" }, "t");
    expect(check).toThrow(
      expect.objectContaining({ type: "usage", hint: expect.stringContaining("IMGGEN_API_KEY") }),
    );
    expect(check).not.toThrow(/0123456789abcdef|fedcba9876543210/);
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
