import { hex, luminance } from "./canvas/color.ts";
import { blankRow, paintLayers } from "./canvas/fill.ts";
import { fractal, type Sampler, softField } from "./random.ts";
import { composeScene } from "./scene/scene.ts";
import { buildStage, type Stage } from "./scene/stage.ts";
import type { Brief } from "./words/brief.ts";
import type { StyleName } from "./words/vocabulary.ts";

/** Paints the complete row `y`, three bytes to the pixel. Rows come from top to bottom, each once. */
export type RowPainter = (y: number, into: Uint8ClampedArray) => void;

/** The scene that a brush looks at, and the sheet in front of it. */
interface Easel {
  readonly stage: Stage;
  /** The pixels of a row of the scene, at most `reach` above or below the one that is painted. */
  rowAt(y: number): Float32Array;
  /** The tooth of the paper, or the specks of a print: from -1 to 1 at each pixel. */
  grainAt(x: number, y: number): number;
}

type Brush = (easel: Easel) => RowPainter;

const GRAIN = 1 << 15;

/** Paints what the brief says, in its style. */
export function paint(brief: Brief, width: number, height: number): RowPainter {
  const stage = buildStage(brief, width, height);
  const layers = composeScene(stage);
  const draw = stage.random("grain");
  const grain = new Float32Array(GRAIN).map(() => draw.between(-1, 1));
  const reach = Math.ceil(stage.unit * 0.03) + 2;
  const rows = Array.from({ length: 2 * reach + 1 }, () => blankRow(width));
  let painted = 0;
  const rowAt = (y: number) => {
    const line = Math.min(height - 1, Math.max(0, y));
    for (; painted <= line; painted++)
      paintLayers(layers, rows[painted % rows.length] ?? blankRow(width), painted);
    return (rows[line % rows.length] ?? blankRow(width)).pixels;
  };
  const grainAt = (x: number, y: number) => grain[(x + Math.imul(y, 7919)) & (GRAIN - 1)] as number;
  return BRUSHES[brief.style]({ stage, rowAt, grainAt });
}

const SHEET = hex("f8f3e6");
/** Ordered dithering: the share that each pixel of a 4 by 4 square adds, -0.5 to 0.5. */
const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5].map((rank) => rank / 16 - 0.47);

/** The scene in so many steps from black to white (0: as it is), inside a margin that is a share of the shorter side. */
function print(tones: number, dither: number, margin: number): Brush {
  return ({ stage: { width, height }, rowAt, grainAt }) => {
    const edge = Math.round(Math.min(width, height) * margin);
    return (y, into) => {
      for (let i = 0; edge > 0 && i < into.length; i++) into[i] = SHEET[i % 3] as number;
      if (y < edge || y >= height - edge) return;
      const pixels = rowAt(y);
      for (let x = edge, at = x * 3; x < width - edge; x++, at += 3) {
        // A little grain, so that skies show no steps; where steps are wanted, the hue is kept.
        let added = grainAt(x, y);
        if (tones > 0) {
          const bright = luminance(pixels, at);
          const place = (bright / 255) * tones + dither * (BAYER[(y & 3) * 4 + (x & 3)] as number);
          const step = Math.floor(place);
          added = ((step + Math.min(1, Math.max(0, (place - step - 0.46) * 12))) / tones) * 245 + 8 - bright;
        }
        into[at] = (pixels[at] as number) + added;
        into[at + 1] = (pixels[at + 1] as number) + added;
        into[at + 2] = (pixels[at + 2] as number) + added;
      }
    };
  };
}

/** How a hand wanders over the sheet: three values for each pixel of a row, from -1 to 1. */
function wandering({ width, unit, noise }: Stage, often: number): (y: number) => Float32Array {
  const row = new Float32Array(width * 3);
  const sample: Sampler = (x, y, into, at) => {
    const [u, v] = [(x / unit) * often, (y / unit) * often];
    into[at] = fractal(noise, u, v, 3);
    into[at + 1] = fractal(noise, u + 50, v + 50, 3);
    into[at + 2] = fractal(noise, u / 3 + 90, v / 3 + 90, 4);
  };
  const field = softField(width, 3, sample, Math.max(2, Math.round(unit / 400)));
  return (y) => {
    field(y, row);
    return row;
  };
}

const WASHES = 5;

/** Thin washes with wandering, darker rims, on paper that stays white around them. */
const watercolor: Brush = ({ stage, rowAt, grainAt }) => {
  const { width, height, unit } = stage;
  const hand = wandering(stage, 22);
  const margin = Math.min(width, height) * 0.045;
  return (y, into) => {
    const wander = hand(y);
    for (let x = 0, at = 0; x < width; x++, at += 3) {
      const water = wander[at + 2] as number;
      const pixels = rowAt(Math.round(y + unit * 0.011 * (wander[at + 1] as number)));
      const column = Math.round(x + unit * 0.011 * (wander[at] as number));
      const from = Math.min(width - 1, Math.max(0, column)) * 3;
      const grain = grainAt(x, y);
      // Washes lie over each other in steps, and each dries darker at its rim, as all do at the edge of the sheet.
      const place = (luminance(pixels, from) / 255 + water * 0.1) * WASHES;
      const inside = place - Math.floor(place);
      const wash = 0.8 + Math.max(0, 1 - inside * 9) * 0.16 - 0.1 * inside;
      const edge = Math.min(x, y, width - 1 - x, height - 1 - y) - margin * (0.8 + 0.9 * water);
      const there = Math.min(1, Math.max(0, edge / Math.max(1, margin * 0.12)));
      const rim = 1 + 0.22 * Math.max(0, 1 - edge / (margin * 0.6));
      const share = there * rim * wash * (1 + 0.07 * grain + 0.16 * water);
      for (let c = 0; c < 3; c++) {
        const white = (SHEET[c] as number) + grain * 2.2;
        into[at + c] = white - (252 - (pixels[from + c] as number)) * share;
      }
    }
  };
};

/** Thick dabs of one colour each; where they would hide something, finer ones. */
const oil: Brush = ({ stage, rowAt, grainAt }) => {
  const { width, unit, noise, random } = stage;
  const hand = wandering(stage, 9);
  const angle = random("brush").pick([-0.5, -0.3, 0.3, 0.5]);
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return (y, into) => {
    const wander = hand(y);
    const here = rowAt(y);
    for (let x = 0, at = 0; x < width; x++, at += 3) {
      const bend = unit * 0.03 * (wander[at] as number);
      const [along, across] = [x * cos + y * sin, y * cos - x * sin + bend];
      let [pixels, from, mood] = [here, at, 0];
      for (const size of [unit * 0.0085, unit * 0.003]) {
        const line = Math.floor(across / size);
        const shift = grainAt(line, 0);
        const column = Math.floor(along / size / 3.4 + shift);
        const [u, v] = [(column - shift + 0.5) * size * 3.4, (line + 0.5) * size - bend];
        pixels = rowAt(Math.round(u * sin + v * cos));
        from = Math.min(width - 1, Math.max(0, Math.round(u * cos - v * sin))) * 3;
        mood = 5 * grainAt(column, line);
        if (Math.abs(luminance(pixels, from) - luminance(here, at)) < 14) break;
        [pixels, from] = [here, at];
      }
      const relief = 1 + 0.05 * noise(along / unit / 0.02, across / unit / 0.0012);
      for (let c = 0; c < 3; c++) into[at + c] = ((pixels[from + c] as number) + mood) * relief;
    }
  };
};

/** Outlines and hatching in pencil, over a breath of colour. */
const sketch: Brush = ({ stage, rowAt, grainAt }) => {
  const { width, unit } = stage;
  const hand = wandering(stage, 14);
  const spacing = Math.max(4, unit / 100);
  return (y, into) => {
    const wander = hand(y);
    const [above, here, below] = [rowAt(y - 1), rowAt(y), rowAt(y + 1)];
    for (let x = 0, at = 0; x < width; x++, at += 3) {
      const next = Math.min(at + 3, width * 3 - 3);
      const down = luminance(below, at) - luminance(above, at);
      const change = Math.hypot(2 * (luminance(here, next) - luminance(here, at)), down);
      // Lines one way, and across them where it is darker.
      const dark = 1 - luminance(here, at) / 255;
      const lineAt = (place: number) => Math.max(0, 0.6 - Math.abs((place % 1) - 0.5) * 3) * 2;
      const bend = 100 + (wander[at] as number) * 2;
      const hatch = Math.max(0, dark - 0.3) * lineAt((x + y) / spacing + bend);
      const cross = Math.max(0, dark - 0.55) * lineAt((x - y + width * 9) / spacing + bend);
      const lead = Math.max(0, change - 9) / 50 + hatch + cross;
      const share = Math.min(0.92, lead) * (0.85 + 0.15 * grainAt(x, y));
      for (let c = 0; c < 3; c++) {
        const tinted = (SHEET[c] as number) - (250 - (here[at + c] as number)) * 0.22;
        into[at + c] = tinted + (42 - tinted) * share;
      }
    }
  };
};

const BRUSHES: Readonly<Record<StyleName, Brush>> = {
  plain: print(0, 0, 0),
  poster: print(7, 0, 0.045),
  pixels: print(9, 0.6, 0),
  oil,
  watercolor,
  sketch,
};
