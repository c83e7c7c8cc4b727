import { chmod, copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { deflateSync } from "node:zlib";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { pngChunk, pngHeader, pngSignature } from "../../lib/image/builders.ts";
import { type CommandWorld, commandWorld } from "../../support/command-world.ts";
import { PICTURE } from "../../support/images.ts";
import { type Behaviour, response } from "../../support/scripted-server.ts";
import { completedAt, taskIs } from "../../support/scripts.ts";
import { withConfig } from "../../support/settings-file.ts";

const FOX = ["generate", "a fox", "-m", "z-image", "-r", "16:9", "-o", "fox.png"];
const env = { TERM: "xterm-256color", COLORTERM: "truecolor" };
const TERMINAL = { terminal: "stdout", columns: 80, env } as const;
const HALF_BLOCKS = /(?:▀.*\n)+/;

/** The lines of a picture, without their colours. */
const linesOf = (picture: string) => picture.replaceAll(/\u001b\[[\d;]*m|\n$/g, "").split("\n");

async function worldWithFox(): Promise<CommandWorld> {
  const world = await commandWorld();
  await world.run(FOX);
  return world;
}

describe("show without an argument", () => {
  it("shows the newest image that is still where it was saved", async () => {
    const { run, json, cwd } = await commandWorld();
    expect(await run(["show"])).toMatchObject({ code: 2 });
    for (const name of ["fox", "owl"]) await run(["generate", name, "-o", `${name}.png`]);
    const shown = async () => (await json(["show"])).document;
    expect(await shown()).toMatchObject({ files: [{ path: path.join(cwd, "owl.png") }] });
    await rm(path.join(cwd, "owl.png"));
    expect(await shown()).toMatchObject({ files: [{ path: path.join(cwd, "fox.png") }] });
  });
});

/** One bit a pixel: to compress a large image takes an eighth of what it does with a byte. */
function blackPng(width: number, height: number): Buffer {
  const pixels = deflateSync(Buffer.alloc((1 + width / 8) * height));
  const chunks = [pngHeader(width, height, 1), pngChunk("IDAT", pixels), pngChunk("IEND")];
  return Buffer.concat([pngSignature, ...chunks]);
}

/** Shows a file with these bytes. */
async function shown(bytes: Buffer | string, name = "image.png") {
  const world = await commandWorld();
  await writeFile(path.join(world.cwd, name), bytes);
  return world.run(["show", name], TERMINAL);
}

describe("show", () => {
  it.each(["fox.png", "task-1"])("draws %s, and says below it what it was made from", async (what) => {
    const { code, stdout, stderr } = await (await worldWithFox()).run(["show", what], TERMINAL);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(HALF_BLOCKS) });
    expect(stderr).toBe("fox.png (64×48)\nz-image, 16:9, cost unknown, task-1\na fox\n");
  });

  it("knows an image that was moved, by its bytes, and one of another machine by its sidecar", async () => {
    const world = await commandWorld();
    await world.run([...FOX, "--sidecar"]);
    await copyFile(path.join(world.cwd, "fox.png"), path.join(world.cwd, "moved.png"));
    expect((await world.run(["show", "moved.png"], TERMINAL)).stderr).toContain("a fox");
    const elsewhere = { ...TERMINAL, home: path.join(world.cwd, "elsewhere") };
    expect((await world.run(["show", "fox.png"], elsewhere)).stderr).toContain("a fox");
    expect((await world.run(["show", "moved.png"], elsewhere)).stderr).toBe("moved.png (64×48)\n");
  });

  it.each(["is unfinished", "failed since"])(
    "knows the image that was saved of a task that %s, as other commands do",
    async (what) => {
      let poll = completedAt("/1.png", "/gone.png");
      const file: Behaviour = ({ target }, socket) =>
        void socket.write(target === "/gone.png" ? response(404, "") : response(200, PICTURE));
      const world = await commandWorld({ poll: (...request) => poll(...request), file });
      expect((await world.run(FOX)).code).toBe(8);
      poll = what === "is unfinished" ? poll : taskIs({ status: "failed", errorCode: 7 });
      await world.run(["resume"]);
      const files = [{ path: path.join(world.cwd, "fox.png") }];
      for (const command of ["show", "status"])
        for (const named of ["task-1", "fox.png"])
          expect((await world.json([command, named])).document).toMatchObject({ taskId: "task-1", files });
      const { document } = await world.json(["rerun", "fox.png", "--dry-run"]);
      expect(document).toMatchObject({ request: { prompt: "a fox" } });
    },
  );

  it("draws several as one grid, and names each below it", async () => {
    const world = await worldWithFox();
    await copyFile(path.join(world.cwd, "fox.png"), path.join(world.cwd, "copy.png"));
    const { stdout, stderr } = await world.run(["show", "fox.png", "copy.png"], TERMINAL);
    // One picture, as wide as the terminal: the one alone has 64 columns.
    const lines = linesOf(stdout);
    expect(new Set(lines.map(({ length }) => length))).toEqual(new Set([80]));
    expect(stderr).toMatch(/^fox\.png \(64×48\)\n(?:.*\n){2}copy\.png \(64×48\)\n/);
    const { document } = await world.json(["show", "fox.png", "task-1"]);
    expect(document).toMatchObject({ ok: true, images: [{ taskId: "task-1" }, { taskId: "task-1" }] });
  });

  it.each([
    ["20", 20, 8],
    ["40x3", 8, 3],
  ])("--size %s draws no wider and no higher", async (size, columns, rows) => {
    const { stdout } = await (await worldWithFox()).run(["show", "fox.png", "--size", size], TERMINAL);
    const lines = linesOf(stdout);
    expect([lines[0]?.length, lines.length]).toEqual([columns, rows]);
  });

  it("draws a photograph that a camera has stored turned as it is seen", async () => {
    const photo = sharp({ create: { width: 60, height: 20, channels: 3, background: "teal" } });
    const { stdout, stderr } = await shown(
      await photo.withMetadata({ orientation: 6 }).jpeg().toBuffer(),
      "a.jpg",
    );
    const lines = linesOf(stdout);
    expect(stderr).toContain("a.jpg (20×60)");
    // Half as high in characters, and fitted to 20 rows of the terminal's 24.
    expect(lines.length / (lines[0]?.length ?? 1)).toBeCloseTo(1.5, 0);
  });

  it("off a terminal prints the path, and no picture", async () => {
    const world = await worldWithFox();
    const { stdout, stderr } = await world.run(["show", "task-1"]);
    expect({ stdout, stderr }).toEqual({ stdout: `${path.join(world.cwd, "fox.png")}\n`, stderr: "" });
  });

  it("under --json says what is known, on a terminal too", async () => {
    const world = await worldWithFox();
    const file = path.join(world.cwd, "fox.png");
    expect(await world.json(["show", "fox.png"], TERMINAL)).toMatchObject({
      code: 0,
      document: {
        ...{ ok: true, taskId: "task-1", request: { prompt: "a fox" }, credits: null },
        files: [{ path: file, mediaType: "image/png", width: 64, height: 48 }],
      },
    });
  });

  it.each([
    ["a truncated image", PICTURE.subarray(0, 60), "is incomplete: PNG cut short at byte 60"],
    [
      "an SVG",
      "<svg xmlns='http://www.w3.org/2000/svg'/>",
      "is not an image that can be shown: an SVG document",
    ],
    ["an empty file", "", "is not an image that can be shown: empty"],
  ])("refuses %s with one line", async (_what, bytes, message) => {
    const stderr = expect.stringContaining(message);
    expect(await shown(bytes)).toEqual({ code: 2, stdout: "", stderr });
  });

  it.each([
    ["task-9", "There is neither an image file nor a task"],
    [".", "error: . is a folder.\n  To look through its images: imggen gallery .\n"],
  ])("refuses %s, which is neither an image nor a task", async (what, message) => {
    const { code, stderr } = await (await commandWorld()).run(["show", what], TERMINAL);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
  });

  it("says of a task whose image was deleted, or never saved, that it is not there", async () => {
    const world = await worldWithFox();
    await rm(path.join(world.cwd, "fox.png"));
    expect((await world.run(["show", "task-1"], TERMINAL)).stderr).toMatch(/fox\.png cannot be read: /);
    await world.run(["generate", "an owl", "-m", "z-image", "--no-wait"]);
    expect((await world.run(["show", "task-2"], TERMINAL)).stderr).toContain(
      "No image of task task-2 is saved",
    );
  });

  it("draws 100 megapixels, and the first frame of an animation", async () => {
    const frames = ["red", "blue"].map((background) =>
      sharp({ create: { width: 8, height: 8, channels: 3, background } })
        .png()
        .toBuffer(),
    );
    const animation = sharp(await Promise.all(frames), { join: { animated: true } }).gif();
    expect((await shown(blackPng(10_000, 10_000))).stdout).toMatch(HALF_BLOCKS);
    const { stdout } = await shown(await animation.toBuffer());
    expect(stdout).toMatch(/^\u001b\[38;2;255;0;0;48;2;255;0;0m▀{8}\u001b\[0m\n/);
  });

  it("escapes a name that would act on the terminal", async () => {
    const { code, stderr } = await shown(PICTURE, "a 'name' \u001b[31m\nof two lines.png");
    expect(code).toBe(0);
    expect(stderr).toBe("a 'name' \\x1b[31m\\nof two lines.png (64×48)\n");
  });

  it("draws in one column too", async () => {
    const narrow = { ...TERMINAL, columns: 1, rows: 3 };
    const { stdout } = await (await worldWithFox()).run(["show", "fox.png"], narrow);
    expect(stdout).toMatch(/^\u001b\[38;2;[\d;]+m▀\u001b\[0m\n$/);
  });

  it("says in one line that it cannot draw without colours, and still names the image", async () => {
    const world = await worldWithFox();
    const { code, stdout, stderr } = await world.run(["show", "fox.png", "--no-color"], TERMINAL);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    const warning = "warning: No preview of fox.png: this terminal does not support pictures or colours.\n";
    expect(stderr).toContain(`${warning}fox.png (64×48)`);
  });
});

describe("--preview", () => {
  it.each([
    ["generate", FOX],
    ["rerun", ["rerun", "task-1", "-o", "again.png"]],
    ["resume", ["resume", "task-1", "-o", "again.png"]],
    ["status", ["status", "task-1", "-o", "again.png"]],
  ])("on %s draws what was saved, and nothing without it", async (_command, args) => {
    const world = args === FOX ? await commandWorld() : await worldWithFox();
    expect((await world.run([...args, "--preview"], TERMINAL)).stdout).toMatch(HALF_BLOCKS);
    expect((await world.run([...args, "--overwrite"], TERMINAL)).stdout).not.toContain("▀");
  });

  it("is always on where the config says so, but never off a terminal or under --json", async () => {
    const world = await commandWorld();
    await world.run(["config", "set", "preview", "true"]);
    const overwriting = [...FOX, "--overwrite"];
    expect((await world.run(overwriting, TERMINAL)).stdout).toContain("▀");
    expect((await world.run(overwriting)).stdout).toBe(`${path.join(world.cwd, "fox.png")}\n`);
    expect((await world.json(overwriting, TERMINAL)).document.ok).toBe(true);
  });

  it("uses what the environment names, or what the terminal says of itself", async () => {
    const world = await worldWithFox();
    const bytes = (await readFile(path.join(world.cwd, "fox.png"))).toString("base64");
    const kitty = await world.run(["show", "fox.png"], { ...TERMINAL, graphics: { kitty: true } });
    expect(kitty.stdout).toBe(`\u001b_Ga=T,f=100,q=2,c=6,r=2,m=0;${bytes}\u001b\\\n`);
    const terminalAnswers = () => "\u001bP>|iTerm2 3.5.0\u001b\\\u001b[6;20;10t\u001b[?65;4c";
    const iterm2 = await world.run(["show", "fox.png"], { ...TERMINAL, terminalAnswers });
    expect(iterm2.stdout).toContain(`:${bytes}\u0007`);
  });

  it("that the config neither asks for nor declines is an error before anything is sent", async () => {
    const world = await commandWorld();
    await withConfig(world, { preview: "perhaps" });
    const stderr = expect.stringContaining("preview from config.json must be true or false");
    expect(await world.run(FOX, TERMINAL)).toMatchObject({ code: 2, stderr });
    expect(world.server.submits()).toEqual([]);
  });
});

describe.skipIf(process.platform === "win32")("--open", () => {
  /** A folder with the system's openers, which run this script. */
  async function openers(world: CommandWorld, script: string): Promise<string> {
    const folder = path.join(world.cwd, "bin");
    await mkdir(folder);
    for (const name of ["open", "xdg-open"]) {
      await writeFile(path.join(folder, name), `#!/bin/sh\n${script}\n`);
      await chmod(path.join(folder, name), 0o755);
    }
    return folder;
  }

  it.each([
    ["generate", [...FOX, "--open"]],
    ["show", ["show", "fox.png", "--open"]],
  ])("on %s hands the image to the system's viewer", async (command, args) => {
    const world = command === "show" ? await worldWithFox() : await commandWorld();
    const PATH = `${await openers(world, `printf %s "$1" > "${world.cwd}/opened"`)}:/usr/bin:/bin`;
    expect((await world.run(args, { env: { PATH } })).code).toBe(0);
    expect(await readFile(path.join(world.cwd, "opened"), "utf8")).toBe(path.join(world.cwd, "fox.png"));
  });

  it("that fails is a warning: the image is saved", async () => {
    const world = await commandWorld();
    const PATH = `${await openers(world, "exit 3")}:/usr/bin:/bin`;
    const failed = await world.run([...FOX, "--open"], { env: { PATH } });
    expect(failed.code).toBe(0);
    expect(failed.stderr).toMatch(
      /warning: The image could not be opened: (xdg-)?open failed \(exit code 3\)\./,
    );
    const missing = await world.run(["show", "fox.png", "--open"], { env: { PATH: world.home } });
    expect(missing).toMatchObject({ code: 0, stderr: expect.stringContaining("cannot be started") });
  });
});
