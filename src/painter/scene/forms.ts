import { fill, fillFading } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { type Outline, type Point, readShapes, rectangle } from "../canvas/outline.ts";
import { brighter, mix, type Rgb } from "../canvas/rgb.ts";
import type { Random } from "../random.ts";
import type { Stage } from "./stage.ts";

/** Shapes in the notation of canvas/outline.ts, in a square from -50 to 50 around their middle. */
const TILES = [
  "M-50 -50 L50 -50 Q50 50 -50 50",
  "M-50 -50 L50 -50 Q50 50 -50 50|M-50 -50 L16 -50 Q16 16 -50 16|M-50 -50 L-17 -50 Q-17 -17 -50 -17",
  "O0 0 38 38|O0 0 16 16",
  "M-50 -50 L50 -50 -50 50",
  "R-50 -40 100 15 R-50 -10 100 15 R-50 20 100 15",
  "O0 50 50 50|O0 50 24 24",
  "M0 -50 Q50 0 0 50 Q-50 0 0 -50",
  "M-50 -50 L0 0 50 -50 M-50 50 L0 0 50 50",
  "O-25 -25 18 18 O25 -25 18 18 O-25 25 18 18 O25 25 18 18",
  "R-50 -50 50 50 R0 0 50 50",
] as const;

const LARGE = [
  "O0 0 50 50",
  "M-50 40 Q-50 -50 0 -50 Q50 -50 50 40",
  "M-50 25 C-50 -40 50 -40 50 25",
  "M0 -56 L54 44 -54 44",
  "R-46 -46 92 92",
  "M-12 -60 C40 -50 50 30 0 60 C-40 40 -60 -20 -12 -60",
  "R-50 -45 100 16 R-50 -13 100 16 R-50 19 100 16",
  "M0 -60 L16 -16 60 0 16 16 0 60 -16 16 -60 0 -16 -16",
  "M-50 50 L-50 0 -17 0 -17 -25 17 -25 17 -50 50 -50 50 50",
  "M-50 -10 Q-25 -60 0 -10 Q25 40 50 -10 L50 20 Q25 70 0 20 Q-25 -30 -50 20",
  "R-5 -60 10 120",
  "M-40 -40 C0 -70 70 -40 50 10 C30 60 -20 30 -35 45 C-70 40 -60 -20 -40 -40",
] as const;

type Layout = (
  stage: Stage,
  draw: Random,
  words: readonly string[],
  color: (index: number) => Rgb,
) => Layer[];

const CREAM: Rgb = [255, 250, 240];
const PATTERN = /^(pattern|geometric|tile|bauhaus|wallpaper)s?$/;

/** What there is to see where the prompt names nothing we can draw: a composition of its words and colours. */
export function forms(stage: Stage): Layer[] {
  const { width, height, content } = stage;
  const [paper, ...colors] = stage.palette;
  const draw = stage.random("forms");
  const words = content.length > 0 ? content.slice(0, 9) : ["imggen"];
  const ground = fillFading([rectangle(-1, -1, width + 2, height + 2)], paper, brighter(paper, 0.86));
  const layout = content.some((word) => PATTERN.test(word)) ? tiles : draw.pick([mobile, mobile, tiles]);
  return [ground, ...layout(stage, draw, words, (index) => colors[index % colors.length] ?? paper)];
}

/** The sum of the letters, which tells words apart. */
const numberOf = (word: string) => [...word].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);

/** A shape of data/forms.ts in pixels: its middle, the size of its square, and its turn in radians. */
function placed(shape: string, draw: Random, x: number, y: number, size: number, turn: number): Outline {
  const [cos, sin] = [(Math.cos(turn) * size) / 100, (Math.sin(turn) * size) / 100];
  const place = ([u, v]: Point): Point => [x + u * cos - v * sin, y + u * sin + v * cos];
  return readShapes(shape, draw).map((contour) => contour.map(place));
}

/** A floor of tiles in the manner of the Bauhaus, each the shape of a letter of the prompt. */
const tiles: Layout = ({ width, height }, draw, words, color) => {
  const short = Math.min(width, height);
  const rows = Math.max(1, Math.round(draw.integer(4, 6) - Math.min(3, Math.max(width, height) / short - 1)));
  const size = short / rows;
  const letters = words.join("");
  const layers: Layer[] = [];
  for (let y = size / 2; y < height + size / 2 - 1; y += size) {
    for (let x = size / 2; x < width + size / 2 - 1; x += size) {
      const letter = letters.charCodeAt(layers.length % letters.length) + draw.integer(0, 2);
      const [back, front] = [color(draw.integer(0, 99)), color(draw.integer(0, 99))];
      const turn = (draw.integer(0, 3) * Math.PI) / 2;
      layers.push(fill([rectangle(x - size / 2, y - size / 2, size + 1, size + 1)], back));
      for (const [n, shape] of (TILES[letter % TILES.length] ?? "").split("|").entries()) {
        layers.push(fill(placed(shape, draw, x, y, size, turn), n % 2 === 0 ? front : back));
      }
    }
  }
  return layers;
};

/** Large shapes in balance, one for each word, before a horizon. */
const mobile: Layout = ({ width, height, unit, side, palette }, draw, words, color) => {
  const floor = rectangle(-1, height * draw.between(0.55, 0.78), width + 2, height);
  const layers = [fill([floor], mix(palette[0], color(draw.integer(0, 9)), 0.55))];
  const count = Math.max(7, words.length + 3);
  for (let i = 0; i < count; i++) {
    const number = numberOf(words[i % words.length] ?? "") + i;
    const shape = LARGE[number % LARGE.length] ?? "";
    const share = (i + 0.5) / count;
    const size = Math.min(width, height, unit) * (0.62 - 0.46 * share) * draw.between(0.85, 1.15);
    // The golden angle spreads the shapes evenly, however many there are.
    const angle = i * 2.4 + draw.between(-0.4, 0.4);
    const away = 0.1 + 0.3 * Math.sqrt(share);
    const x = width * (0.5 + side * 0.04 + away * Math.cos(angle));
    const y = height * (0.5 + away * Math.sin(angle));
    const turn = draw.pick([0, 0, 0.4, -0.4, 1.57]);
    const main = color(number);
    const shadow = placed(shape, draw, x + size * 0.03, y + size * 0.04, size, turn);
    const form = placed(shape, draw, x, y, size, turn);
    layers.push(fill(shadow, brighter(main, 0.25), 0.16));
    layers.push(fillFading(form, mix(main, CREAM, 0.14), brighter(main, 0.86), i % 3 === 2 ? 0.72 : 1));
  }
  return layers;
};
