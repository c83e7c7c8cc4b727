import { softField } from "../canvas/field.ts";
import { hex } from "../canvas/rgb.ts";
import type { Style } from "./style.ts";
import { paperGrain } from "./style.ts";
import { nearest, sample, type Underpainting, underpaint } from "./underpainting.ts";

const PAPER = hex("f7f3e8");
const GRAPHITE = hex("2c2a30");
/** Directions of the hatching, and how dark a place must be to get it, 0 to 1. */
const HATCHES = [
  { cos: 0.74, sin: 0.67, from: 0.3 },
  { cos: 0.8, sin: -0.6, from: 0.52 },
  { cos: 0.15, sin: 0.99, from: 0.72 },
] as const;

/** Outlines and hatching in pencil, over a breath of colour. */
export const sketch: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  // Red, green and blue of this one are the outlines, the darkness, and nothing.
  const lines = { ...under, pixels: outlines(under) };
  const { scale, stage } = under;
  const paper = paperGrain(stage.random("paper"));
  const drawn = new Float32Array(3);
  const spacing = Math.max(3, Math.sqrt(width * height) / 150);
  const wobbles = softField(width, Math.max(2, Math.round(spacing)), 1, (x, y, into, at) => {
    into[at] = stage.noise(x / (spacing * 14), y / (spacing * 14)) * 0.9;
  });
  const wobble = new Float32Array(width);
  return (y, into) => {
    wobbles(y, wobble);
    for (let x = 0, i = 0; x < width; x++) {
      const sway = wobble[x] as number;
      sample(lines, x * scale + sway * 0.8, y * scale, drawn);
      const from = nearest(under, x * scale, y * scale) * 3;
      const grain = paper(x, y);
      const hatch = hatching(x / spacing, y / spacing, sway, (drawn[1] as number) / 255);
      const lead = Math.min(0.94, (Math.min(1, (drawn[0] as number) / 120) + hatch) * (0.86 + 0.3 * grain));
      for (let c = 0; c < 3; c++, i++) {
        const tinted = (PAPER[c] as number) - (250 - (under.pixels[from + c] as number)) * 0.2 + grain * 2;
        into[i] = tinted + ((GRAPHITE[c] as number) - tinted) * Math.max(0, lead);
      }
    }
  };
};

function hatching(x: number, y: number, wobble: number, dark: number): number {
  let pressed = 0;
  for (const hatch of HATCHES) {
    const amount = dark - hatch.from;
    if (amount <= 0) break;
    const place = x * hatch.cos + y * hatch.sin + wobble;
    const away = Math.abs(place - Math.floor(place) - 0.5) * 2;
    const half = 0.16 + Math.min(0.4, amount * 0.8);
    pressed += Math.min(1, Math.max(0, (half - away) * 5)) * 0.55 * Math.min(1, amount * 6);
  }
  return Math.min(0.9, pressed);
}

/** How much the brightness changes around each pixel: a picture of all outlines; beside it, how dark each is. */
function outlines(under: Underpainting): Uint8ClampedArray {
  const { width, height, brightness } = under;
  const pixels = new Uint8ClampedArray(width * height * 3);
  for (let y = 0, i = 0; y < height; y++) {
    const [up, down] = [y > 0 ? width : 0, y < height - 1 ? width : 0];
    for (let x = 0; x < width; x++, i++) {
      const across =
        (brightness[x < width - 1 ? i + 1 : i] as number) - (brightness[x > 0 ? i - 1 : i] as number);
      const along = (brightness[i + down] as number) - (brightness[i - up] as number);
      pixels[i * 3] = Math.max(0, Math.sqrt(across * across + along * along) - 9) * 2.4;
      pixels[i * 3 + 1] = 255 - (brightness[i] as number);
    }
  }
  return pixels;
}
