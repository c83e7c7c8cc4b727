import { blankRow, paintLayers } from "../canvas/layer.ts";
import { hex, luminanceAt } from "../canvas/rgb.ts";
import { composeScene } from "../scene/compose.ts";
import type { Style } from "./style.ts";

const STEPS = 7;
const PAPER = hex("f6efdf");

/** Few flat tones, each with a narrow soft edge, and a paper margin, like a printed travel poster. */
export const poster: Style = (brief, width, height) => {
  const { layers } = composeScene(brief, width, height);
  const row = blankRow(width);
  const margin = Math.round(Math.min(width, height) * 0.045);
  const paper = new Uint8ClampedArray(width * 3).map((_, i) => PAPER[i % 3] as number);
  return (y, into) => {
    paintLayers(layers, row, y);
    into.set(paper);
    if (y < margin || y >= height - margin) return;
    const { pixels } = row;
    for (let at = margin * 3; at < (width - margin) * 3; at += 3) {
      const bright = Math.max(1, luminanceAt(pixels, at));
      const place = (bright / 255) * STEPS;
      const step = Math.floor(place);
      const level = step + Math.min(1, Math.max(0, (place - step - 0.46) * 12));
      // The hue is kept, the brightness stepped.
      const grey = (level / STEPS) * 245 + 8 - bright * 1.25;
      into[at] = grey + (pixels[at] as number) * 1.25;
      into[at + 1] = grey + (pixels[at + 1] as number) * 1.25;
      into[at + 2] = grey + (pixels[at + 2] as number) * 1.25;
    }
  };
};
