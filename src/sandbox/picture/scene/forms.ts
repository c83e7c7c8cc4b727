import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { readShapes } from "../canvas/notation.ts";
import { type Outline, type Point, rectangle } from "../canvas/outline.ts";
import { brighter, mix, type Rgb } from "../canvas/rgb.ts";
import { LARGE, PETALS, TILES } from "../data/forms.ts";
import type { Random } from "../seed/random.ts";
import type { Stage } from "./stage.ts";

/** A shape of data/forms.ts somewhere in the frame; `size` is that of its square in pixels. */
interface Form {
  readonly shape: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  /** In radians. */
  readonly turn: number;
}

/** What there is to see where the prompt names nothing we can draw: a composition of its words and colours. */
export function forms(stage: Stage): Layer[] {
  const { palette, width, height, content } = stage;
  const draw = stage.random("forms");
  const words = content.length > 0 ? content.slice(0, 9) : ["imggen"];
  const ground = fillFading(
    [rectangle(-1, -1, width + 2, height + 2)],
    palette[0],
    brighter(palette[0], 0.86),
  );
  const [, ...colors] = palette;
  const color = (index: number) => colors[index % colors.length] ?? palette[0];
  const isPattern = stage.content.some((word) => /^(pattern|geometric|tile|bauhaus|wallpaper)s?$/.test(word));
  return [
    ground,
    ...draw.pick(isPattern ? [tiles] : [mobile, mobile, rosette, rosette, tiles])(stage, draw, words, color),
  ];
}

type Layout = (
  stage: Stage,
  draw: Random,
  words: readonly string[],
  color: (index: number) => Rgb,
) => Layer[];

/** The sum of the letters, which tells words apart. */
const numberOf = (word: string) => [...word].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);

function outlineOf({ shape, x, y, size, turn }: Form, draw: Random): Outline {
  const [cos, sin] = [(Math.cos(turn) * size) / 100, (Math.sin(turn) * size) / 100];
  return readShapes(shape, draw).map((contour) =>
    contour.map(([u, v]): Point => [x + u * cos - v * sin, y + u * sin + v * cos]),
  );
}

/** A floor of tiles in the manner of the Bauhaus, each the shape of a letter of the prompt. */
const tiles: Layout = ({ width, height, palette }, draw, words, color) => {
  const short = Math.min(width, height);
  const rows = Math.max(1, Math.round(draw.integer(4, 6) - Math.min(3, Math.max(width, height) / short - 1)));
  const size = short / rows;
  const letters = words.join("");
  const layers: Layer[] = [];
  for (let y = size / 2; y < height + size / 2 - 1; y += size) {
    for (let x = size / 2; x < width + size / 2 - 1; x += size) {
      const letter = letters.charCodeAt(layers.length % letters.length);
      const [back, front] = [
        draw.chance(0.3) ? palette[0] : color(draw.integer(0, 99)),
        color(draw.integer(0, 99)),
      ];
      const motif = TILES[(letter + draw.integer(0, 2)) % TILES.length] ?? TILES[0];
      const turn = (draw.integer(0, 3) * Math.PI) / 2;
      layers.push(fill([rectangle(x - size / 2, y - size / 2, size + 1, size + 1)], back));
      for (const [n, shape] of motif.split("|").entries()) {
        layers.push(fill(outlineOf({ shape, x, y, size, turn }, draw), n % 2 === 0 ? front : back));
      }
    }
  }
  return layers;
};

/** A flower of rings: a ring for each word, with as many petals as its letters make. */
const rosette: Layout = ({ width, height }, draw, words, color) => {
  const [x, y] = [width * draw.between(0.42, 0.58), height * draw.between(0.44, 0.56)];
  const reach = Math.hypot(width, height) * draw.between(0.36, 0.46);
  const rings = Math.max(5, words.length);
  const layers: Layer[] = [];
  for (let ring = 0; ring < rings; ring++) {
    const word = words[ring % words.length] ?? "";
    const petals = 5 + word.length + 2 * (rings - ring);
    const shape = PETALS[numberOf(word) % PETALS.length] ?? PETALS[0];
    const start = draw.between(0, 1);
    const around = (share: number) => {
      const size = reach * (1 - ring / (rings + 0.4)) * share;
      const turns = Array.from({ length: petals }, (_, i) => ((i + start) / petals) * 2 * Math.PI);
      return turns.flatMap((turn) => outlineOf({ shape, x, y, size, turn }, draw));
    };
    const main = color(ring + word.length);
    layers.push(
      fill(
        [
          outlineOf({ shape: "O0 0 72 72", x, y, size: reach * (1 - ring / (rings + 0.4)), turn: 0 }, draw),
        ].flat(),
        color(ring + word.length + 2),
        0.5,
      ),
    );
    layers.push(fillFading(around(1), mix(main, [255, 250, 240], 0.2), brighter(main, 0.85)));
    layers.push(fill(around(0.76), color(ring + word.length + 1), 0.85));
  }
  return layers;
};

/** Large shapes in balance, one for each word, before a horizon. */
const mobile: Layout = ({ width, height, unit, side, palette }, draw, words, color) => {
  const short = Math.min(width, height, unit);
  const floor = rectangle(-1, height * draw.between(0.55, 0.78), width + 2, height);
  const layers = [fill([floor], mix(palette[0], color(draw.integer(0, 9)), 0.55))];
  const count = Math.max(7, words.length + 3);
  for (let i = 0; i < count; i++) {
    const word = words[i % words.length] ?? "";
    const shape = LARGE[(numberOf(word) + i) % LARGE.length] ?? LARGE[0];
    const share = (i + 0.5) / count;
    const size = short * (0.62 - 0.46 * share) * draw.between(0.85, 1.15);
    // The golden angle spreads the shapes evenly, however many there are.
    const angle = i * 2.4 + draw.between(-0.4, 0.4);
    const away = 0.1 + 0.3 * Math.sqrt(share);
    const x = width * (0.5 + side * 0.04 + away * Math.cos(angle));
    const y = height * (0.5 + away * Math.sin(angle));
    const form: Form = { shape, x, y, size, turn: draw.pick([0, 0, 0.4, -0.4, 1.57]) };
    const main = color(numberOf(word) + i);
    const shadow = { ...form, x: x + size * 0.03, y: y + size * 0.04 };
    layers.push(fill(outlineOf(shadow, draw), brighter(main, 0.25), 0.16));
    const opacity = i % 3 === 2 ? 0.72 : 1;
    layers.push(
      fillFading(outlineOf(form, draw), mix(main, [255, 250, 240], 0.14), brighter(main, 0.86), opacity),
    );
  }
  return layers;
};
