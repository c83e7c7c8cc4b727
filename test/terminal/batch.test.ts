import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { BIN } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { words } from "../support/words.ts";

const FLAGS = words(
  "-m gamma-image-2 -q 1K -o out --sandbox --max-credits 50 --concurrency 6 --poll-interval 100ms",
);

/** A folder with a manifest of five rows, which take a while where the bar is looked at, and one that fails. */
async function manifest(
  directive = "",
): Promise<{ cwd: string; env: { IMGGEN_HOME: string }; args: string[] }> {
  const cwd = await temporaryFolder();
  const others = ["a fox", "a hen", "an owl", "a wren", "a hare"].map((what) => `${what}${directive}`);
  await writeFile(path.join(cwd, "p.txt"), ["a dog [sandbox:fail]", ...others, ""].join("\n"));
  return { cwd, env: { IMGGEN_HOME: path.join(cwd, "home") }, args: ["batch", "p.txt", ...FLAGS] };
}

describe.skipIf(!hasScreen)("batch on a real terminal", () => {
  it.each([100, 60])("shows a bar in two lines of %d columns, and takes it away again", async (columns) => {
    const { args, ...options } = await manifest(" [sandbox:slow=3s]");
    const screen = await Screen.start(args, { columns, ...options });
    const lines = await screen.shows(/^ {2}\d+ of 50 credits .*left/m);
    const bars = lines.filter((line) => /^\S ━*─* \d of 6 rows · 1 failed · \d running$/.test(line));
    expect(bars).toHaveLength(1);
    expect(await screen.end()).toBe(10);
    const end = (await screen.lines()).join("\n");
    expect(end).not.toMatch(/[━─]| of 50 credits/);
    expect(end.match(/line 1: failed: /g)).toHaveLength(1);
    expect(end).toMatch(/^6 rows: 5 saved, 1 failed\. The sandbox is free\.$/m);
    expect(end).toMatch(/^To create a page of the images: imggen gallery out$/m);
  });

  // A frame that is drawn after the window has changed, and before the system says so, may leave a row. No program can prevent that.
  it("fits 40 columns, and leaves nothing stale when the window changes in the middle", {
    retry: 2,
  }, async () => {
    const { args, ...options } = await manifest(" [sandbox:slow=3s]");
    const screen = await Screen.start(args, { columns: 80, ...options });
    await screen.shows(/of 50 credits/);
    await screen.resize(40);
    const lines = await screen.shows(/^\S ━*─* \d of 6 rows · 1 failed\n {2}\d+ of 50 credits/m);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(40);
    await screen.resize(100);
    await screen.shows(/of 50 credits/);
    await screen.end();
    expect((await screen.lines()).join("\n")).not.toMatch(/[━─]| of 50 credits/);
  });

  it("draws no bar where its results are piped to a program that prints on the same screen", async () => {
    const { args, ...options } = await manifest();
    const piped = '"$@" | cat';
    const program = [process.execPath, BIN, ...args];
    const sh = ["-c", piped, "sh", ...program];
    const screen = await Screen.start(sh, { columns: 200, command: "sh", ...options });
    const lines = await screen.shows(/^.*\.png$/m);
    expect(lines.join("\n")).not.toMatch(/[━─]| of 50 credits/);
    await screen.end();
    expect((await screen.lines()).filter((line) => /^\S+\.png$/.test(line))).toHaveLength(5);
  });

  it("lists on a resumed run only what that run has saved", async () => {
    const { args, ...options } = await manifest();
    const first = await Screen.after(args, { columns: 200, ...options });
    expect(first.filter((line) => line.endsWith(".png"))).toHaveLength(5);
    const again = await Screen.after(args, { columns: 200, ...options });
    expect(again.filter((line) => line.endsWith(".png"))).toEqual([]);
    expect(again.join("\n")).toMatch(/^6 rows: 5 saved by earlier runs, 1 failed\. The sandbox is free\.$/m);
  });
});
