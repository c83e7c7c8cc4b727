import { softField } from "../canvas/field.ts";
import { hex, luminanceAt } from "../canvas/rgb.ts";
import { fractal } from "../random.ts";
import type { Style } from "./style.ts";
import { paperGrain } from "./style.ts";
import { sample, underpaint } from "./underpainting.ts";

const PAPER = hex("fbf7ee");
const WASHES = 5;

/** Thin washes with wandering, darker rims, on rough paper that stays white around them. */
export const watercolor: Style = async (brief, width, height) => {
  const under = await underpaint(brief, width, height);
  const { scale, stage } = under;
  const { noise } = stage;
  const paper = paperGrain(stage.random("paper"));
  const far = stage.unit * 0.011;
  const size = scale / stage.unit;
  // Three values for each pixel: how far the brush strays both ways, and how much water it left.
  const wander = softField(width, Math.max(2, Math.round(2.5 / scale)), 3, (x, y, into, at) => {
    const [u, v] = [x * size, y * size];
    into[at] = far * fractal(noise, u * 22, v * 22, 3);
    into[at + 1] = far * fractal(noise, u * 22 + 50, v * 22 + 50, 3);
    into[at + 2] = fractal(noise, u * 7 + 90, v * 7 + 90, 4);
  });
  const [wet, color] = [new Float32Array(width * 3), new Float32Array(3)];
  const margin = Math.min(width, height) * 0.045;
  return (y, into) => {
    wander(y, wet);
    for (let x = 0, at = 0; x < width; x++, at += 3) {
      const water = wet[at + 2] as number;
      sample(under, x * scale + (wet[at] as number), y * scale + (wet[at + 1] as number), color);
      const grain = paper(x, y);
      const bright = luminanceAt(color, 0);
      const edge = Math.min(x, y, width - 1 - x, height - 1 - y);
      const there = edge > margin * 2 ? 1 : sheet(edge, margin, water);
      const share = there * wash(bright, water) * (1 + 0.07 * grain + 0.16 * water);
      for (let c = 0; c < 3; c++) {
        const white = (PAPER[c] as number) + grain * 2.2;
        into[at + c] = white - (252 - (color[c] as number)) * share;
      }
    }
  };
};

/** Strength of the pigment: washes lie over each other in steps, and each dries darker at its rim. */
function wash(bright: number, water: number): number {
  const place = (bright / 255 + water * 0.1) * WASHES;
  const inside = place - Math.floor(place);
  return 0.8 + Math.max(0, 1 - inside * 9) * 0.16 - 0.1 * inside;
}

/** How much of the paint is there, from 0 at the edge of the sheet to 1, and more where it dried. */
function sheet(edge: number, margin: number, water: number): number {
  const inside = (edge - margin * (0.8 + 0.9 * water)) / Math.max(1, margin * 0.12);
  return inside <= 0 ? 0 : Math.min(1, inside) * (1 + 0.22 * Math.max(0, 1 - inside / 5));
}
