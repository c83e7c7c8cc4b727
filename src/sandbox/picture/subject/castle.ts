import { fill, fillFading } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { ellipse, type Outline } from "../canvas/outline.ts";
import { brighter, hex, mix, type Rgb } from "../color/rgb.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";
import { type Pen, penFor } from "./pen.ts";

const LAMP = hex("ffd27a");

/** In units of the figure. */
interface Turret {
  readonly x: number;
  readonly wide: number;
  readonly tall: number;
}

const TURRETS: readonly Turret[] = [
  { x: -8, wide: 13, tall: 72 },
  { x: 14, wide: 10, tall: 58 },
  { x: -30, wide: 11, tall: 50 },
  { x: 33, wide: 12, tall: 44 },
  { x: -46, wide: 9, tall: 32 },
];

/** What the castle is built of, in the light it stands in. */
interface Materials {
  readonly stone: Rgb;
  readonly slate: Rgb;
  readonly pane: Rgb;
  readonly shine: Rgb;
  readonly flag: Rgb;
}

/** A fairy-tale castle of round towers. */
export function castle(stage: Stage, spot: Spot): Layer[] {
  const pen = penFor(spot, 104, 56, lightSide(stage));
  const { unit, at, box } = pen;
  const built = materials(stage);
  const walls = [
    box(-48, 24, 96, 25),
    ...battlements(pen, -48, 24, 96),
    box(-24, 38, 44, 16),
    ...battlements(pen, -24, 38, 44),
  ];
  const gate = [box(-7, 9, 12, 10), ellipse(...at(-1, 9), 6 * unit, 6 * unit)];
  return [
    ...TURRETS.flatMap((turret) => turretLayers(pen, turret, built)),
    fillFading(walls, built.stone, brighter(built.stone, 0.72)),
    fill(
      [-38, -20, 14, 28].map((x) => box(x, 16, 2.4, 5)),
      built.pane,
    ),
    fill(gate, lit(stage, hex("3a2a26"))),
    ...(stage.light.lamps > 0 ? [glow(...at(-1, 5), 22 * unit, LAMP, 0.35)] : []),
  ];
}

function materials(stage: Stage): Materials {
  const draw = stage.random("castle");
  const stone = lit(stage, stage.accent ? mix(stage.accent, hex("e8dfd0"), 0.4) : hex("d8cdbd"), 0.04);
  const slate = lit(stage, draw.pick([hex("3f5f8f"), hex("8a3f4a"), hex("4a6a6a"), hex("6a4a86")]));
  const pane = mix(brighter(stone, 0.4), LAMP, stage.light.lamps);
  return { stone, slate, pane, shine: mix(slate, stage.light.glow, 0.2), flag: lit(stage, hex("d8402f")) };
}

function turretLayers({ at, box }: Pen, { x, wide, tall }: Turret, built: Materials): Layer[] {
  const half = wide / 2;
  const tip = tall + wide * 1.9;
  const roof = [at(x, tip), at(x + half + 2, tall), at(x - half - 2, tall)];
  const sunny = [at(x, tip), at(x + half + 2, tall), at(x, tall)];
  const flag = [at(x, tip + 7), at(x - 7, tip + 5), at(x, tip + 3)];
  return [
    fillFading([box(x - half, tall, wide, tall)], built.stone, brighter(built.stone, 0.75)),
    fill([box(x - half, tall, half, tall)], brighter(built.stone, 0.6), 0.45),
    fill([roof], brighter(built.slate, 0.75)),
    fill([sunny], built.shine),
    fill([box(x - 0.3, tip + 7, 0.6, 8), flag], built.flag),
    fill([box(x - 1.2, tall - 6, 2.4, 6), box(x - 1.2, tall - 20, 2.4, 5)], built.pane),
  ];
}

function battlements({ box }: Pen, x: number, up: number, wide: number): Outline {
  return Array.from({ length: Math.floor(wide / 4) }, (_, i) => box(x + i * 4, up + 2.4, 2.2, 2.6));
}
