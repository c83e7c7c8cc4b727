import { fill, fillFading } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { circle, type Point, rectangle } from "../canvas/outline.ts";
import { brighter, gradient, mix, type Rgb } from "../color/rgb.ts";
import { landUnder } from "../scene/ridge.ts";
import type { Stage } from "../scene/stage.ts";
import type { Random } from "../seed/random.ts";
import type { Setting } from "./setting.ts";

/** What there is to see when a prompt names nothing we can draw. */
export function abstract(stage: Stage): Setting {
  const { width, height, unit } = stage;
  const draw = stage.random("abstract");
  const back = draw.pick([waves, tiles, bubbles])(stage, draw);
  return {
    back,
    front: [],
    spot: {
      x: width / 2,
      y: height * 0.72,
      height: Math.min(unit * 0.5, height * 0.5),
      reach: Math.min(unit * 0.35, width * 0.4),
    },
  };
}

function colorsOf(stage: Stage): [Rgb, ...Rgb[]] {
  const { light, land } = stage;
  const first = stage.accent ?? light.sky[Math.floor(light.sky.length / 2)] ?? light.glow;
  return [first, light.glow, land.water, ...land.blossom, land.foliage[0], light.sky[0]];
}

/** Sheets of colour that fold over each other below a disc. */
function waves(stage: Stage, draw: Random): Layer[] {
  const { height, unit, light } = stage;
  const stops = [
    light.haze,
    stage.accent ?? light.glow,
    draw.pick(stage.land.blossom),
    stage.land.water,
    light.sky[0],
  ] as const;
  const count = Math.min(40, Math.max(9, Math.round((height / unit) * 11)));
  return Array.from({ length: count }, (_, i) => {
    const share = i / (count - 1);
    const base = height * (0.3 + 0.72 * share);
    const ridge = {
      base,
      rise: unit * 0.2,
      span: unit * draw.between(0.3, 0.5),
      roughness: 1,
      offset: 3 + share * 4,
    };
    const color = gradient([...stops], share);
    const sheet = [landUnder(stage, ridge, height + unit)];
    const shadows = [0.006, 0.014, 0.024].map((up) =>
      fill(
        [landUnder(stage, { ...ridge, base: base - unit * up }, base + unit * 0.2)],
        brighter(light.sky[0], 0.4),
        0.07,
      ),
    );
    return [...shadows, fillFading(sheet, mix(color, light.orb, 0.35), brighter(color, 0.7))];
  }).flat();
}

/** A floor of quarter discs, half discs and rings, in the manner of the Bauhaus. */
function tiles(stage: Stage, draw: Random): Layer[] {
  const { width, height } = stage;
  const short = Math.min(width, height);
  const size =
    short /
    (width === height ? 5 : Math.max(1, Math.round(4 - Math.min(3, Math.max(width, height) / short - 1))));
  const colors = colorsOf(stage);
  const paper = mix(stage.light.haze, [255, 250, 240], 0.7);
  const layers: Layer[] = [fill([rectangle(-1, -1, width + 2, height + 2)], paper)];
  for (let y = 0; y < height; y += size)
    for (let x = 0; x < width; x += size)
      layers.push(...tile(draw, [x, y, size], draw.pick(colors), draw.pick(colors)));
  return layers;
}

type Square = readonly [x: number, y: number, size: number];

function tile(draw: Random, square: Square, ground: Rgb, figure: Rgb): Layer[] {
  const [x, y, size] = square;
  const right = draw.chance(0.5);
  const down = draw.chance(0.5);
  const disc = (share: number) => circle(x + size / 2, y + size / 2, size * share);
  const arc = (share: number) => quarter(square, right, down, share);
  const half: Point[] = [
    [right ? x : x + size, y],
    [x, y + size],
    [x + size, down ? y + size : y],
  ];
  const stripes = [0.1, 0.4, 0.7].map((at) => rectangle(x, y + size * at, size, size * 0.15));
  const motif = draw.pick([
    [fill([arc(1)], figure), fill([arc(0.66)], ground), fill([arc(0.33)], figure)],
    [fill([arc(1)], figure)],
    [fill([disc(0.38)], figure), fill([disc(0.16)], ground)],
    [fill([half], figure)],
    [fill(stripes, figure)],
  ]);
  return [fill([rectangle(x, y, size, size)], ground), ...motif];
}

/** A quarter disc around one corner of the square. */
function quarter([x, y, size]: Square, right: boolean, down: boolean, share: number): Point[] {
  const corner: Point = [right ? x + size : x, down ? y + size : y];
  const arc = Array.from({ length: 25 }, (_, i): Point => {
    const angle = (i / 24) * (Math.PI / 2);
    const [u, v] = [Math.cos(angle) * size * share, Math.sin(angle) * size * share];
    return [corner[0] + (right ? -u : u), corner[1] + (down ? -v : v)];
  });
  return [corner, ...arc];
}

/** Translucent discs that drift over the sky. */
function bubbles(stage: Stage, draw: Random): Layer[] {
  const { width, height, unit } = stage;
  const colors = colorsOf(stage);
  const count = Math.min(70, Math.round(((width * height) / unit ** 2) * 16));
  return Array.from({ length: count }, () => {
    const [x, y] = [draw.between(0, width), draw.between(0, height)];
    const radius = unit * 0.24 * draw.next() ** 1.6 + unit * 0.02;
    const color = draw.pick(colors);
    const rim = [circle(x, y, radius), circle(x, y, radius * 0.97).reverse()];
    return [
      glow(x, y, radius * 1.5, color, 0.25),
      fillFading([circle(x, y, radius)], mix(color, [255, 255, 255], 0.25), color, 0.5),
      fill([rim[0] as Point[]], color, 0.12),
      fill([circle(x - radius * 0.3, y - radius * 0.34, radius * 0.2)], [255, 255, 255], 0.22),
    ];
  }).flat();
}
