import { blankRow, paintLayers } from "../canvas/layer.ts";
import { composeScene } from "../scene/scene.ts";
import { byRow, type Style, toByte } from "./style.ts";

const GRAIN = 1 << 15;

/** The scene as it is, with a little grain, so that skies show no steps. */
export const plain: Style = (brief, width, height) => {
  const { layers, stage } = composeScene(brief, width, height);
  const row = blankRow(width);
  const draw = stage.random("grain");
  const grain = Float32Array.from({ length: GRAIN }, () => draw.between(-1.2, 2.2));
  return byRow(width, (y, into) => {
    paintLayers(layers, row, y);
    const shift = Math.imul(y, 7919);
    for (let x = 0, i = 0; x < width; x++) {
      const speck = grain[(x + shift) & (GRAIN - 1)] as number;
      for (let c = 0; c < 3; c++, i++) into[i] = toByte((row.pixels[i] as number) + speck);
    }
  });
};
