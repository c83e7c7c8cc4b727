import { blankRow, paintLayers } from "../canvas/layer.ts";
import { composeScene } from "../scene/compose.ts";
import type { Style } from "./style.ts";

const GRAIN = 1 << 15;

/** The scene as it is, with a little grain, so that skies show no steps. */
export const plain: Style = (brief, width, height) => {
  const { layers, stage } = composeScene(brief, width, height);
  const row = blankRow(width);
  const draw = stage.random("grain");
  const grain = new Float32Array(GRAIN).map(() => draw.between(-1, 1));
  return (y, into) => {
    paintLayers(layers, row, y);
    const shift = Math.imul(y, 7919);
    const { pixels } = row;
    for (let x = 0, i = 0; x < width; x++) {
      const speck = grain[(x + shift) & (GRAIN - 1)] as number;
      into[i] = (pixels[i++] as number) + speck;
      into[i] = (pixels[i++] as number) + speck;
      into[i] = (pixels[i++] as number) + speck;
    }
  };
};
