import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, readFile, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { ROOT } from "../support/program.ts";
import { hasScreen, Screen } from "../support/screen.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { hasTool } from "../support/tools.ts";

/** A copy of the program whose optional dependencies are not installed. */
async function programWithoutSharp(): Promise<string> {
  const folder = await temporaryFolder();
  for (const part of ["bin", "dist"])
    await cp(path.join(ROOT, part), path.join(folder, part), { recursive: true });
  return path.join(folder, "bin/imggen.cjs");
}

async function imageFiles(): Promise<string> {
  const folder = await temporaryFolder();
  const image = sharp({ create: { width: 400, height: 200, channels: 3, background: "teal" } });
  for (const type of ["png", "jpeg"] as const)
    await writeFile(path.join(folder, `image.${type}`), await image.toFormat(type).toBuffer());
  return folder;
}

describe.skipIf(!hasScreen)("show on a real terminal", () => {
  it.each([100, 40, 1])(
    "%d columns wide draws the image in as many, and leaves nothing else behind",
    async (columns) => {
      const cwd = await imageFiles();
      const screen = await Screen.start(["show", "image.png"], { columns, rows: 24, cwd });
      expect(await screen.end()).toBe(0);
      const [first, ...more] = await screen.lines();
      expect(first).toBe("▀".repeat(Math.min(columns, 80)));
      expect(more.join("").replaceAll(/[▀ ]/g, "")).toBe("image.png(400×200)");
    },
  );
});

describe.skipIf(!hasScreen)("--preview on a real terminal", () => {
  it.each([
    ["one image", "z-image", 1],
    ["four images as a grid", "vendor2/beta-v4", 4],
  ])("draws %s, with names and costs below on the same screen", async (_what, model, count) => {
    const args = ["generate", "a fox", "-m", model, "--sandbox", "--preview"];
    const lines = await Screen.after(args, { columns: 80, rows: 30 });
    expect(lines.length).toBeLessThan(30);
    const drawn = lines.filter((line) => line.includes("▀"));
    expect(drawn.length).toBeGreaterThan(15);
    const below = lines.slice(lines.lastIndexOf(drawn.at(-1) ?? "") + 1);
    expect(below.filter((line) => line.includes("Saved"))).toHaveLength(count);
    expect(below.at(-1)).toContain("free (sandbox)");
  });
});

it.skipIf(platform() !== "linux" || !hasTool("script"))(
  "a terminal that answers no question is drawn on after half a second",
  async () => {
    const cwd = await imageFiles();
    // A pseudo-terminal with nothing behind it.
    const command = `exec ${process.execPath} ${path.join(ROOT, "bin/imggen.cjs")} show image.png`;
    const { stdout } = await promisify(execFile)("script", ["-qec", command, "/dev/null"], {
      cwd,
      env: { PATH: process.env.PATH, IMGGEN_HOME: path.join(cwd, "home"), TERM: "xterm-256color" },
    });
    expect(stdout).toMatch(/^\u001b\[>0q\u001b\[16t\u001b\[14t\u001b\[c\u001b\[38;5;\d+;48;5;\d+m▀/);
    expect(stdout.replaceAll(/\u001b\[[\d;]*m/g, "")).toMatch(/(?:▀{80}\r\n){20}image\.png \(400×200\)\r\n$/);
  },
);

describe.skipIf(platform() !== "linux" || !hasTool("script"))("the answer of a slow terminal", () => {
  it.each([
    ["is used within half a second", 250, /\u001bP0;0;q/],
    ["is dropped after that", 900, /▀/],
  ])("%s, and nothing of it is left for the next prompt", async (_what, afterMs, drawn) => {
    const { output, left } = await onSlowTerminal("show image.png", afterMs);
    expect(output).toMatch(drawn);
    expect(left).toBe("");
  });

  it("is read to its end by doctor too, which names what show does", async () => {
    const { output, left } = await onSlowTerminal("doctor", 250);
    expect(output).toContain("sixel");
    expect(left).toBe("");
  });

  it("is used where the program itself was too busy to read it", async () => {
    const { output, left } = await onSlowTerminal("show image.png", 50, { busyMs: 900 });
    expect(output).toMatch(/\u001bP0;0;q/);
    expect(left).toBe("");
  });

  it("is read to its end after Ctrl-C too", async () => {
    const { left } = await onSlowTerminal("doctor", 600, { typed: "\u0003" });
    expect(left).toBe("");
  });
});

const XTERM_ANSWER = "\u001bP>|XTerm(379)\u001b\\\u001b[6;20;10t\u001b[?64;4;22c";

/**
 * Runs `imggen` on a terminal that answers late. `left` is what the program has left on the terminal's input.
 * @param options.typed before the answer
 * @param options.busyMs the program does nothing for so long
 */
async function onSlowTerminal(
  command: string,
  afterMs: number,
  options: { typed?: string; busyMs?: number } = {},
) {
  const cwd = await imageFiles();
  const program = `sh -c 'echo "PID<$$>"; exec "$@"' - ${process.execPath} ${path.join(ROOT, "bin/imggen.cjs")} ${command}`;
  const rest =
    "stty -icanon -echo min 0 time 8; printf 'LEFT<'; dd bs=999 count=1 2>/dev/null | od -An -c; echo '>'";
  const child = spawn("script", ["-qec", `trap : INT; ${program}; ${rest}`, "/dev/null"], {
    cwd,
    env: { PATH: process.env.PATH, IMGGEN_HOME: path.join(cwd, "home"), TERM: "xterm-256color" },
  });
  let output = "";
  child.stdout.on("data", (bytes) => {
    const isAsked = output.includes("\u001b[c");
    output += bytes;
    if (isAsked || !output.includes("\u001b[c")) return;
    const { typed = "", busyMs = 0 } = options;
    setTimeout(() => child.stdin.write(typed), 20);
    setTimeout(() => child.stdin.write(XTERM_ANSWER), afterMs);
    if (busyMs === 0) return;
    const pid = Number(/PID<(\d+)>/.exec(output)?.[1]);
    process.kill(pid, "SIGSTOP");
    setTimeout(() => process.kill(pid, "SIGCONT"), busyMs);
  });
  await once(child, "close");
  const left = /LEFT<([^>]*)>/s.exec(output)?.[1]?.trim();
  return { output, left };
}

describe.skipIf(!hasScreen)("without the optional sharp", () => {
  it("what Kitty takes as it is is shown, and the rest is one line", async () => {
    const [program, cwd] = [await programWithoutSharp(), await imageFiles()];
    const env = { KITTY_WINDOW_ID: "1" };
    expect(await Screen.after(["show", "image.png"], { columns: 80, cwd, program, env })).toEqual([
      "image.png (400×200)",
    ]);
    expect(await Screen.after(["show", "image.jpeg"], { columns: 100, cwd, program, env })).toEqual([
      "warning: No preview of image.jpeg: the optional package sharp is not installed.",
      "image.jpeg (400×200)",
    ]);
  });

  it("an image whose name says another type keeps its bytes and its name, and a line says so", async () => {
    const [program, cwd] = [await programWithoutSharp(), await temporaryFolder()];
    const args = ["generate", "a fox", "--sandbox", "-o", "fox.jpg"];
    expect(await Screen.after(args, { columns: 120, cwd, program })).toContain(
      "warning: fox.jpg contains a PNG image, which was not converted: the optional package sharp is not installed.",
    );
    expect((await readFile(path.join(cwd, "fox.jpg"))).subarray(1, 4).toString()).toBe("PNG");
  });
});
