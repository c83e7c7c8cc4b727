import { describe, expect, it } from "vitest";
import { hasScreen, Screen } from "../support/screen.ts";

describe.skipIf(!hasScreen)("help on a real terminal", () => {
  it.each([100, 80, 40])("of %d columns breaks no word", async (columns) => {
    const lines = await Screen.after(["generate", "--help", "--all"], { columns, rows: 80 });
    const words = new Set(lines.join(" ").split(/\s+/));
    for (const word of ["--request-timeout", "standard", "{index}", "matrix", "gamma-image-2"])
      expect(words).toContain(word);
  });

  it("has headings in bold, and no other style", async () => {
    const screen = await Screen.start(["--help"], { columns: 80, rows: 60 });
    expect(await screen.end()).toBe(0);
    expect(await screen.colored()).toContain("\u001b[1mCreate:");
    expect(await screen.styles()).toEqual(new Set([1]));
  });

  it("is plain under NO_COLOR and on a dumb terminal", async () => {
    for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
      const screen = await Screen.start(["--help"], { columns: 80, rows: 60, env });
      expect(await screen.end()).toBe(0);
      expect(await screen.styles()).toEqual(new Set());
    }
  });
});
