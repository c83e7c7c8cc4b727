import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import sharp from "sharp";
import { decode } from "sixel/lib/index.js";
import { describe, expect, it } from "vitest";
import { renderGrid, renderPicture } from "../../src/graphics/picture.ts";
import { fitCells, type Screen } from "../../src/graphics/terminal.ts";
import { inspectFile } from "../../src/lib/image/inspect.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const SCREEN: Screen = {
  protocol: "blocks",
  columns: 80,
  rows: 24,
  cell: { width: 10, height: 20 },
  colors: "truecolor",
};
const RED = { r: 255, g: 0, b: 0 };
const BLUE = { r: 0, g: 0, b: 255 };

type Type = "png" | "jpeg" | "webp";

/** An image file, red above and blue below. */
async function imageFile(type: Type, width = 200, height = 200): Promise<string> {
  const lower = { create: { width, height: height / 2, channels: 3, background: BLUE } } as const;
  const image = sharp({ create: { width, height, channels: 3, background: RED } });
  const file = path.join(await temporaryFolder(), `image.${type}`);
  await writeFile(
    file,
    await image
      .composite([{ input: lower, gravity: "south" }])
      .toFormat(type)
      .toBuffer(),
  );
  return file;
}

async function pictured(file: string, screen: Partial<Screen>): Promise<string> {
  const inspection = await inspectFile(file);
  if (!inspection.ok) throw new Error(inspection.detail);
  return renderPicture({ source: file, image: inspection.image }, { ...SCREEN, ...screen });
}

/** The commands of Kitty's protocol in a text: each with its control data and its payload. */
function kittyCommands(text: string) {
  const found = [...text.matchAll(/\u001b_G([^;]*);([^\u001b]*)\u001b\\/g)];
  return found.map(([, control = "", payload = ""]) => ({ control, payload }));
}

describe("in Kitty", () => {
  it("a PNG goes as it is, in parts that the protocol allows, fitted to the terminal", async () => {
    const file = await imageFile("png", 2000, 2000);
    const commands = kittyCommands(await pictured(file, { protocol: "kitty" }));
    const sent = Buffer.from(commands.map(({ payload }) => payload).join(""), "base64");
    expect(sent.equals(await readFile(file))).toBe(true);
    expect(commands[0]?.control).toMatch(/^a=T,f=100,q=2,c=40,r=20,m=[01]$/);
    expect(commands.at(-1)?.control).toMatch(/m=0$/);
    expect(Math.max(...commands.map(({ payload }) => payload.length))).toBeLessThanOrEqual(4096);
  });

  it.each(["jpeg", "webp"] as const)("a %s goes as PNG, which is all that it takes", async (type) => {
    const commands = kittyCommands(await pictured(await imageFile(type), { protocol: "kitty" }));
    const sent = Buffer.from(commands.map(({ payload }) => payload).join(""), "base64");
    expect((await sharp(sent).metadata()).format).toBe("png");
  });

  it("a picture that is nowhere goes as it is too, and what is too large for a terminal goes scaled", async () => {
    const file = await imageFile("png", 9000, 10);
    const large = kittyCommands(await pictured(file, { protocol: "kitty" }));
    const scaled = Buffer.from(large.map(({ payload }) => payload).join(""), "base64");
    expect((await sharp(scaled).metadata()).width).toBe(1600);
    const small = { source: scaled, image: { type: "png", width: 1600, height: 2 } } as const;
    expect(await renderPicture(small, { ...SCREEN, protocol: "kitty" })).toContain(
      scaled.toString("base64", 0, 99),
    );
  });
});

describe("in iTerm2", () => {
  it.each(["png", "jpeg", "webp"] as const)(
    "a %s goes as it is, with its size in characters",
    async (type) => {
      const file = await imageFile(type, 400, 200);
      const bytes = await readFile(file);
      expect(await pictured(file, { protocol: "iterm2" })).toBe(
        `\u001b]1337;File=inline=1;size=${bytes.length};width=40;height=10;preserveAspectRatio=1:${bytes.toString("base64")}\u0007\n`,
      );
    },
  );
});

describe("in sixel", () => {
  it.each(["png", "jpeg", "webp"] as const)(
    "a %s is drawn in its own colours, at the size of the characters",
    async (type) => {
      const text = await pictured(await imageFile(type, 800, 800), { protocol: "sixel" });
      const { data32, width, height } = decode(Buffer.from(text.slice(text.indexOf("q") + 1)));
      expect({ width, height }).toEqual({ width: 400, height: 400 });
      const at = (row: number) => [...new Uint8Array(data32.buffer, row * width * 4, 3)];
      expect(at(10)).toEqual([expect.closeTo(255, -1), expect.closeTo(0, -1), expect.closeTo(0, -1)]);
      expect(at(390)).toEqual([expect.closeTo(0, -1), expect.closeTo(0, -1), expect.closeTo(255, -1)]);
    },
  );
});

describe("in half blocks", () => {
  it("each character holds two pixels, one above the other", async () => {
    const text = await pictured(await imageFile("png", 2, 4), {});
    expect(text).toBe(
      "\u001b[38;2;255;0;0;48;2;255;0;0m▀▀\u001b[0m\n\u001b[38;2;0;0;255;48;2;0;0;255m▀▀\u001b[0m\n",
    );
  });

  it("without truecolor they have the nearest of 256 colours", async () => {
    const text = await pictured(await imageFile("png", 2, 4), { colors: "256" });
    expect(text).toBe("\u001b[38;5;196;48;5;196m▀▀\u001b[0m\n\u001b[38;5;21;48;5;21m▀▀\u001b[0m\n");
  });

  it("a grey is one of the greys", async () => {
    const file = path.join(await temporaryFolder(), "grey.png");
    const grey = { r: 118, g: 118, b: 118 };
    await sharp({ create: { width: 1, height: 2, channels: 3, background: grey } }).toFile(file);
    expect(await pictured(file, { colors: "256" })).toContain("\u001b[38;5;243;48;5;243m");
  });

  it("need colours", async () => {
    await expect(pictured(await imageFile("png"), { colors: "none" })).rejects.toThrow(
      "this terminal does not support pictures or colours",
    );
  });
});

describe("a grid", () => {
  it.each([
    ["four squares", 4, { width: 1000, height: 1000 }, { width: 792, height: 192 }],
    ["four of a wide ratio, above each other", 4, { width: 2000, height: 250 }, { width: 792, height: 392 }],
    ["two tall ones, side by side", 2, { width: 500, height: 1000 }, { width: 392, height: 392 }],
    ["small ones, which are not enlarged", 3, { width: 64, height: 64 }, { width: 184, height: 56 }],
  ])("of %s fills what a terminal has room for", async (_what, count, size, expected) => {
    const source = await imageFile("png", size.width, size.height);
    const { image } = await renderGrid(
      Array(count).fill({ source, image: { type: "png", ...size } }),
      SCREEN,
    );
    expect(image).toEqual({ type: "png", ...expected });
  });
});

it.each([
  [
    "a wide image takes the width",
    { width: 4000, height: 1000 },
    { columns: 80, rows: 24 },
    { width: 80, height: 10 },
  ],
  [
    "a tall one leaves four rows for text",
    { width: 1000, height: 4000 },
    { columns: 80, rows: 24 },
    { width: 10, height: 20 },
  ],
  [
    "a small one is not enlarged",
    { width: 50, height: 40 },
    { columns: 80, rows: 24 },
    { width: 5, height: 2 },
  ],
  [
    "one column is enough for any image",
    { width: 4000, height: 1000 },
    { columns: 1, rows: 24 },
    { width: 1, height: 1 },
  ],
  ["so is one row", { width: 1000, height: 4000 }, { columns: 80, rows: 1 }, { width: 1, height: 1 }],
])("%s", (_what, image, terminal, cells) => {
  expect(fitCells(image, { ...SCREEN, ...terminal }, SCREEN.cell)).toEqual(cells);
});
