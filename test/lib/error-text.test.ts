import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { errorText } from "../../src/lib/error-text.ts";

function thrownBy(action: () => unknown): unknown {
  try {
    return action();
  } catch (error) {
    return error;
  }
}

describe("errorText", () => {
  it("says what a system error means, and keeps its code", () => {
    expect(errorText(thrownBy(() => readFileSync("/no/such/file")))).toBe("no such file or folder (ENOENT)");
    expect(errorText(thrownBy(() => readFileSync("/")))).toBe("it is a folder (EISDIR)");
  });

  it("shows a code that it has no words for", () => {
    expect(errorText(Object.assign(new Error("EXDEV: no"), { code: "EXDEV" }))).toBe("EXDEV");
    expect(errorText(Object.assign(new Error("no"), { code: "constructor" }))).toBe("constructor");
  });

  it("leaves every other error its own words", () => {
    expect(errorText(new Error("it is not a regular file"))).toBe("it is not a regular file");
    expect(errorText("oh no")).toBe("oh no");
  });
});
