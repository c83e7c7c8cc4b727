import { softly } from "../canvas/soft.ts";
import { hex, type Rgb } from "../color/rgb.ts";
import { paperGrain } from "./paper.ts";
import { byRow, type Style, toByte } from "./style.ts";
import { brightness, sample, type Underpainting, underpaint } from "./underpainting.ts";

const PAPER: Rgb = hex("f7f3e8");
const GRAPHITE: Rgb = hex("2c2a30");
/** Directions of the hatching, and how dark a place must be to get it, 0 to 1. */
const HATCHES = [
  { cos: 0.74, sin: 0.67, from: 0.3 },
  { cos: 0.8, sin: -0.6, from: 0.52 },
  { cos: 0.15, sin: 0.99, from: 0.72 },
] as const;

/** Outlines and hatching in pencil, over a breath of colour. */
export const sketch: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  const lines = outlines(under);
  const paper = paperGrain(under.stage.random("paper"));
  const [color, line] = [new Float32Array(3), new Float32Array(3)];
  const wobble = new Float32Array(width);
  const spacing = Math.max(3, Math.sqrt(width * height) / 150);
  return byRow(width, (y, into) => {
    softly(
      wobble,
      Math.max(1, Math.round(spacing)),
      (x) => under.stage.noise(x / (spacing * 14), y / (spacing * 14)) * 0.9,
    );
    for (let x = 0; x < width; x++) {
      sample(under, x * under.scale, y * under.scale, color);
      sample(lines, x * under.scale + (wobble[x] as number) * 0.8, y * under.scale, line);
      const dark =
        1 - (0.3 * (color[0] as number) + 0.59 * (color[1] as number) + 0.11 * (color[2] as number)) / 255;
      const grain = paper(x, y);
      const pressed =
        Math.min(1, (line[0] as number) / 120) +
        hatching(x / spacing, y / spacing, wobble[x] as number, dark);
      const lead = Math.min(0.94, pressed * (0.86 + 0.3 * grain));
      for (let c = 0; c < 3; c++) {
        const tinted = (PAPER[c] as number) - (250 - (color[c] as number)) * 0.2 + grain * 2;
        into[x * 3 + c] = toByte(tinted + ((GRAPHITE[c] as number) - tinted) * Math.max(0, lead));
      }
    }
  });
};

function hatching(x: number, y: number, wobble: number, dark: number): number {
  let pressed = 0;
  for (const hatch of HATCHES) {
    const amount = dark - hatch.from;
    if (amount <= 0) continue;
    const place = x * hatch.cos + y * hatch.sin + wobble;
    const away = Math.abs(place - Math.floor(place) - 0.5) * 2;
    const half = 0.16 + Math.min(0.4, amount * 0.8);
    pressed += Math.min(1, Math.max(0, (half - away) * 5)) * 0.55 * Math.min(1, amount * 6);
  }
  return Math.min(0.9, pressed);
}

/** How much the brightness changes around each pixel: a picture of all outlines. */
function outlines(under: Underpainting): Underpainting {
  const { width, height } = under;
  const pixels = new Uint8ClampedArray(width * height * 3);
  const light = (x: number, y: number) =>
    brightness(
      under,
      (Math.min(height - 1, Math.max(0, y)) * width + Math.min(width - 1, Math.max(0, x))) * 3,
    );
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const right = light(x + 1, y) - light(x - 1, y);
      const down = light(x, y + 1) - light(x, y - 1);
      pixels[(y * width + x) * 3] = Math.max(0, Math.hypot(right, down) - 9) * 2.4;
    }
  return { ...under, pixels };
}
