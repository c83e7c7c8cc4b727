import { softly } from "../canvas/soft.ts";
import { hex, type Rgb } from "../color/rgb.ts";
import { fractal } from "../seed/noise.ts";
import { paperGrain } from "./paper.ts";
import { byRow, type Style, toByte } from "./style.ts";
import { sample, type Underpainting, underpaint } from "./underpainting.ts";

const PAPER: Rgb = hex("fbf7ee");
const WASHES = 5;

/** Thin washes with wandering, darker rims, on rough paper that stays white around them. */
export const watercolor: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  const paper = paperGrain(under.stage.random("paper"));
  const [swayX, swayY, pool] = [new Float32Array(width), new Float32Array(width), new Float32Array(width)];
  const color = new Float32Array(3);
  const step = Math.max(1, Math.round(2 / under.scale));
  const painted = sheet(under, width, height);
  return byRow(width, (y, into) => {
    wander(under, y, step, swayX, swayY, pool);
    for (let x = 0; x < width; x++) {
      sample(under, x * under.scale + (swayX[x] as number), y * under.scale + (swayY[x] as number), color);
      const grain = paper(x, y);
      const water = pool[x] as number;
      const share = painted(x, y, water) * wash(color, water) * (1 + 0.07 * grain + 0.16 * water);
      for (let c = 0; c < 3; c++) {
        const white = (PAPER[c] as number) + grain * 2.2;
        into[x * 3 + c] = toByte(white - (252 - (color[c] as number)) * share);
      }
    }
  });
};

/** How far the brush strays at each pixel of the row, and how much water it left. */
function wander(
  under: Underpainting,
  y: number,
  step: number,
  swayX: Float32Array,
  swayY: Float32Array,
  pool: Float32Array,
): void {
  const { stage, scale } = under;
  const { noise, unit } = stage;
  const far = unit * 0.011;
  const v = (y * scale) / unit;
  softly(swayX, step, (x) => far * fractal(noise, ((x * scale) / unit) * 22, v * 22, 3));
  softly(swayY, step, (x) => far * fractal(noise, ((x * scale) / unit) * 22 + 50, v * 22 + 50, 3));
  softly(pool, step, (x) => fractal(noise, ((x * scale) / unit) * 7 + 90, v * 7 + 90, 4));
}

/** Strength of the pigment: washes lie over each other in steps, and each dries darker at its rim. */
function wash(color: Float32Array, water: number): number {
  const bright = (color[0] as number) * 0.3 + (color[1] as number) * 0.59 + (color[2] as number) * 0.11;
  const place = (bright / 255 + water * 0.1) * WASHES;
  const inside = place - Math.floor(place);
  const rim = Math.max(0, 1 - inside * 9) * 0.16;
  return 0.8 + rim - 0.1 * inside;
}

/** How much of the paint is there, from 0 at the edge of the sheet to 1. */
function sheet(
  under: Underpainting,
  width: number,
  height: number,
): (x: number, y: number, water: number) => number {
  const margin = Math.min(width, height) * 0.045;
  const soft = Math.max(1, margin * 0.12);
  return (x, y, water) => {
    const edge = Math.min(x, y, width - 1 - x, height - 1 - y);
    if (edge > margin * 2) return 1;
    const shore = margin * (0.8 + 0.9 * water);
    const inside = (edge - shore) / soft;
    if (inside <= 0 || under.width < 8) return inside <= 0 ? 0 : 1;
    return Math.min(1, inside) * (1 + 0.22 * Math.max(0, 1 - inside / 5));
  };
}
