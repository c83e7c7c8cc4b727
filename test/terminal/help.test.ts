import { chmod, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { runProgram } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { mustHaveTool } from "../support/tools.ts";

const END_OF_JSON = /Lines of --progress json/;

/** Shows what it gets until Enter is pressed. Ctrl-C is a key to it, as it is to `less`. */
const PAGER = `#!/bin/sh
trap 'echo deaf' INT
cat
echo "LESS is $LESS"
for id in $PPID $(cut -d ' ' -f 4 /proc/$PPID/stat); do
  if grep -q imggen.cjs /proc/$id/cmdline; then echo "IMGGEN<$id>"; fi
done
until read answer < /dev/tty; do :; done
echo "left $1"
`;

async function withPager(
  args: readonly string[],
  { words = "", less }: { words?: string; less?: string } = {},
) {
  const file = path.join(await temporaryFolder(), "pager");
  await writeFile(file, PAGER);
  await chmod(file, 0o755);
  return Screen.start(args, { columns: 80, env: { PAGER: `${file}${words}`, LESS: less } });
}

describe.skipIf(!hasScreen)("help on a real terminal", () => {
  it.each([100, 80])("of %d columns is what a pipe gets, with headings in bold", async (columns) => {
    const screen = await Screen.start(["--help"], { columns, rows: 48 });
    expect(await screen.end()).toBe(0);
    expect(await screen.lines()).toEqual((await runProgram(["--help"])).stdout.trimEnd().split("\n"));
    expect(await screen.styles()).toEqual(new Set([1]));
  });

  it("of 60 columns is laid out for them", async () => {
    const lines = await Screen.after(["--help"], { columns: 60, rows: 60 });
    expect(lines[0]).toBe("Usage: imggen [options] [command]");
    expect(lines.filter((line) => line.length > 60)).toEqual([]);
    expect(lines).toContain("  generate  generate an image from a prompt and save it");
  });

  it("shows a topic in $PAGER, a shell's line, and exits with the pager", async () => {
    const screen = await withPager(["help", "json"], { words: " 'by Enter'" });
    await screen.shows(/LESS is FRX\n/);
    await screen.type("Enter");
    expect(await screen.end()).toBe(0);
    expect((await screen.lines()).at(-1)).toBe("left by Enter");
  });

  it("leaves Ctrl-C to the pager, twice, and LESS to the user", async () => {
    const screen = await withPager(["generate", "--help", "--all"], { less: "R" });
    await screen.shows(/LESS is R$/m);
    await screen.type("C-c");
    await screen.shows(/deaf/);
    await screen.type("C-c");
    await screen.shows(/deaf[\s\S]*deaf/);
    await screen.type("Enter");
    expect(await screen.end()).toBe(0);
    expect((await screen.lines()).at(-1)).toBe("left");
  });

  it("exits at SIGTERM once the pager has: the terminal is its own until then", async () => {
    const screen = await withPager(["help", "json"]);
    const lines = await screen.shows(/IMGGEN<\d+>/);
    process.kill(Number(/IMGGEN<(\d+)>/.exec(lines.join("\n"))?.[1]), "SIGTERM");
    await screen.type("Enter");
    expect(await screen.end()).toBe(143);
  });

  it.each([
    ["is not found", "no-such-pager"],
    ["is not executable", "/etc/hostname"],
    ["is empty", ""],
    ["is cat", "cat"],
  ])("prints the text if the pager %s, and exits with 0", async (_what, PAGER) => {
    const screen = await Screen.start(["help", "json"], { columns: 80, env: { PAGER } });
    expect(await screen.end()).toBe(0);
    const text = (await screen.lines()).join("\n");
    expect(text).toMatch(/With --json, standard output is exactly one JSON document\./);
    expect(text).toMatch(END_OF_JSON);
  });

  it("prints the text silently if there is no less", async () => {
    const env = { PATH: await temporaryFolder() };
    const screen = await Screen.start(["help", "manifests"], { columns: 80, env });
    expect(await screen.end()).toBe(0);
    expect((await screen.lines())[0]).toMatch(/^A batch submits the rows of a manifest\./);
  });

  it("is not paged without --all, nor in a dumb terminal", async () => {
    const env = { PAGER: "echo paged" };
    for (const [args, more] of [
      [["generate", "--help"], {}],
      [["help", "json"], { TERM: "dumb" }],
    ] as const) {
      const lines = await Screen.after(args, { columns: 80, rows: 60, env: { ...env, ...more } });
      expect(lines).not.toContain("paged");
      expect(lines.length).toBeGreaterThan(20);
    }
  });

  it("is shown by less: a short topic at once, of a long one the first screen until q", async (test) => {
    test.skip(!mustHaveTool("less"), "less is not installed");
    const short = await Screen.after(["help", "manifests"], { columns: 80, rows: 60 });
    expect(short.at(-1)).toBe("  Batches on many machines: imggen help scale");
    const long = await Screen.start(["help", "json"], { columns: 80, rows: 20 });
    await long.shows(/^:$/m);
    expect((await long.lines()).join("\n")).not.toMatch(END_OF_JSON);
    await long.type("q");
    expect(await long.end()).toBe(0);
  });
});
