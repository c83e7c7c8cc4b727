import { describe, expect, it } from "vitest";
import { hasScreen, Screen } from "../support/screen.ts";

const REFUSED = ["generate", "a fox", "-m", "gama", "-r", "21:9", "--no-color"];

describe.skipIf(!hasScreen)("a message on a real terminal", () => {
  it.each([100, 60, 40, 30])("is broken between words in %d columns", async (columns) => {
    const lines = await Screen.after(REFUSED, { columns });
    const whole = (await Screen.after(REFUSED, { columns: 250 })).map((line) => line.trim());
    const words = (text: readonly string[]) => text.join(" ").split(/\s+/);
    expect(words(lines)).toEqual(words(whole));
    expect(lines[0]).toMatch(/^error: /);
    for (const line of lines.slice(1)) expect(line).toMatch(/^ {2}/);
  });

  it.each([40, 30])("leaves a command to paste in one piece in %d columns", async (columns) => {
    const args = ["generate", "a", "red", "fox", "--model", "gamma-image-2", "--quality", "2K"];
    const screen = await Screen.start(args, { columns });
    expect(await screen.end()).toBe(2);
    const command = "imggen generate 'a red fox' --model gamma-image-2 --quality 2K";
    expect(await screen.copied()).toContain(`\n${command}\n`);
  });
});
