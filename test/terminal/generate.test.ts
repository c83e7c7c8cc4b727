import { platform } from "node:os";
import { describe, expect, it } from "vitest";
import { hasScreen, Screen } from "../support/screen.ts";
import { pause } from "../support/wait.ts";

const FOX = ["generate", "a red fox", "-m", "gamma-image-2", "-q", "1K", "--sandbox"];
/** A fox that takes 4 s, and whose end is not waited for any longer than that. */
const SLOW_FOX = [FOX[0] ?? "", "a red fox [sandbox:slow=4s]", ...FOX.slice(2), "--poll-interval", "100ms"];

/** Green, yellow, red, cyan, bold, dim: what every theme makes legible on its background. No background is set. */
const LEGIBLE = new Set([1, 2, 31, 32, 33, 36]);

describe.skipIf(!hasScreen)("generate on a real terminal", () => {
  it.each([100, 80])("leaves one line in %d columns, which names the file from here", async (columns) => {
    const [line, ...more] = await Screen.after(FOX, { columns });
    expect(line).toMatch(/^✓ Saved a-red-fox-\w+\.png \(1024×1024, free \(sandbox\), \d[\d.]* m?s\)$/);
    expect(more).toEqual([]);
  });

  it("puts what does not fit 40 columns on a line of its own", async () => {
    const lines = await Screen.after(FOX, { columns: 40 });
    expect(lines).toEqual([
      expect.stringMatching(/^✓ Saved a-red-fox-\w+\.png$/),
      expect.stringMatching(/^ {2}1024×1024, free \(sandbox\), \d[\d.]* m?s$/),
    ]);
  });

  it("shows what is generated while it waits, with the seconds, and takes it away again", async () => {
    const screen = await Screen.start(SLOW_FOX, { columns: 100 });
    await screen.shows(/^\S Generating · gamma-image-2 1K · 2 s · free \(sandbox\)$/m);
    expect(await screen.lines()).toHaveLength(1);
    expect(await screen.end()).toBe(0);
    expect(await screen.lines()).toEqual([expect.stringMatching(/^✓ Saved a-red-fox\S+ \(/)]);
  });

  // A terminal wraps its lines again at once, but may report the resize some frames later.
  it("leaves nothing stale behind when the window is made narrower and wider in the middle", async () => {
    const screen = await Screen.start(SLOW_FOX, { columns: 100 });
    await screen.shows(/Generating · gamma-image-2/);
    for (const columns of [30, 50, 20, 100]) {
      await screen.resize(columns);
      await screen.shows(columns === 20 ? /^\S Generating · \d s$/m : /Generating/);
    }
    expect(await screen.end()).toBe(0);
    const lines = await screen.lines();
    expect(lines.filter((line) => line.includes("Generating"))).toEqual([]);
    expect(lines).toEqual([expect.stringMatching(/^✓ Saved/)]);
  });

  it("leaves the shell its cursor and a clean line while Ctrl-Z has stopped it, and goes on after it", async () => {
    const screen = await Screen.start(SLOW_FOX, { columns: 100, canSuspend: true });
    await screen.shows(/Generating/);
    expect(await screen.hasCursor()).toBe(false);
    await screen.type("C-z");
    const stopped = await screen.shows(/Suspended\./);
    expect(stopped.filter((line) => line.includes("Generating"))).toEqual([]);
    expect(await screen.hasCursor()).toBe(true);
    await screen.type("Enter");
    await screen.shows(/Generating/);
    expect(await screen.hasCursor()).toBe(false);
    expect(await screen.end()).toBe(0);
    expect((await screen.lines()).at(-1)).toMatch(/^✓ Saved/);
  });

  it.skipIf(platform() !== "linux")(
    "draws nothing beside the shell's prompt after bg, and goes on after fg",
    async () => {
      const screen = await Screen.start(SLOW_FOX, { columns: 100, canSuspend: true });
      await screen.shows(/Generating/);
      await screen.type("C-z");
      await screen.shows(/Suspended\./);
      await screen.type("bg", "Enter");
      await pause(500);
      expect((await screen.lines()).filter((line) => line.includes("Generating"))).toEqual([]);
      expect(await screen.hasCursor()).toBe(true);
      await screen.type("Enter");
      expect(await screen.end()).toBe(0);
      expect((await screen.lines()).at(-1)).toMatch(/^✓ Saved/);
    },
  );

  it("has only colours that can be read on a light and on a dark background, on marks alone", async () => {
    const screen = await Screen.start(SLOW_FOX, { columns: 100 });
    await screen.shows(/Generating/);
    const styles = await screen.styles();
    expect(styles.size).toBeGreaterThan(0);
    for (const style of styles) expect(LEGIBLE).toContain(style);
    await screen.end();
    expect(await screen.colored()).toMatch(/^\u001b\[32m✓\u001b\[39m Saved/m);
    const refused = await Screen.start(["generate", "a fox", "--timeout", "soon"], { columns: 80 });
    await refused.end();
    expect(await refused.colored()).toMatch(/^\u001b\[31merror:\u001b\[39m --timeout "soon"/m);
  });
});
