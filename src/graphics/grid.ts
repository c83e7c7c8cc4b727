import { loadSharp, scaledPng } from "./decoder.ts";
import type { Shown } from "./picture.ts";
import { roomOf, type Screen } from "./terminal.ts";

/** Between two images, in pixels. */
const GAP = 8;

/**
 * Several images as one picture that fits a terminal: in as many columns as let them be largest, with as few rows as that takes.
 * @throws UndecodableError
 */
export async function gridOf(shown: readonly Shown[], screen: Screen): Promise<Shown> {
  const sharp = await loadSharp();
  const room = roomOf(screen);
  const [wide, high] = [room.width * screen.cell.width, room.height * screen.cell.height];
  const largest = (side: "width" | "height") => Math.max(...shown.map(({ image }) => image[side]));
  const [width, height] = [largest("width"), largest("height")];
  const scaleIn = (columns: number) =>
    Math.min(1, wide / columns / width, high / Math.ceil(shown.length / columns) / height);
  const columns = shown.reduce((best, _, at) => (scaleIn(at + 1) >= scaleIn(best) ? at + 1 : best), 1);
  const place = (pixels: number) => Math.max(GAP + 1, Math.floor(pixels * scaleIn(columns)));
  const [column, row] = [place(width), place(height)];
  const layers = await Promise.all(
    shown.map(async ({ source }, at) => ({
      input: await scaledPng(source, column - GAP, row - GAP),
      left: (at % columns) * column,
      top: Math.floor(at / columns) * row,
    })),
  );
  const size = { width: columns * column - GAP, height: Math.ceil(shown.length / columns) * row - GAP };
  const page = sharp({ create: { ...size, channels: 4, background: "#0000" } });
  const source = await page.composite(layers).png().toBuffer();
  return { source, image: { type: "png", ...size } };
}
