import { type Field, softField, softStep } from "../canvas/field.ts";
import { fill, glow } from "../canvas/fill.ts";
import type { Layer } from "../canvas/layer.ts";
import { circle, type Point, ribbon } from "../canvas/outline.ts";
import { brighter, gradient, hex, hexes, mix } from "../canvas/rgb.ts";
import { fractal } from "../random.ts";
import { SNOW } from "./drawing.ts";
import { isExcluded, type Stage } from "./stage.ts";

const STARLIGHT = hexes("ffffff cfe0ff fff0d0");
/** Pairs of warm and cold gas. */
const NEBULAE = ["7a3fa8 1f6fa8", "c0407a 3a3fb0", "1f8f8a 5a3fb8", "d06a3a 7a2f8f"] as const;

/** The sky from the top of the frame to `bottom`, with clouds, stars, sun or moon. */
export function sky(stage: Stage, bottom: number): Layer[] {
  const { light, orb, unit, horizon, width } = stage;
  const isNight = light.stars === 1;
  const reach = (unit * (isNight ? 0.16 : 0.3)) ** 2;
  const cloudsAt = clouds(stage);
  let row = Number.NaN;
  let [air, cloud] = [light.haze, light.cloud];
  const field = softField(width, softStep(width), 3, (x, y, into, at) => {
    const level = y / horizon;
    if (y !== row) [air, cloud] = [gradient(light.sky, level), mix(light.cloud, light.glow, level * 0.5)];
    row = y;
    const share = 0.85 / (1 + ((x - orb.x) ** 2 + (y - orb.y) ** 2 * 1.7) / reach);
    const cover = level > 1 ? 0 : cloudsAt(x, y);
    for (let c = 0; c < 3; c++) {
      const plain = (air[c] as number) + ((light.glow[c] as number) - (air[c] as number)) * share;
      into[at + c] = plain + ((cloud[c] as number) - plain) * cover;
    }
  });
  const hasOrb = !isExcluded(stage, isNight ? "moon" : "sun");
  return [
    backdrop(field, bottom),
    ...stars(stage, light.stars, horizon),
    ...(hasOrb ? orbLayers(stage) : []),
  ];
}

/** Deep space. */
export function nebula(stage: Stage): Layer[] {
  const { unit, noise, height, width } = stage;
  const draw = stage.random("nebula");
  const [warm, cold = warm] = hexes(draw.pick(NEBULAE));
  const dark = hex("060714");
  const offset = draw.between(0, 200);
  const span = unit * draw.between(0.32, 0.5);
  const field = softField(width, softStep(width), 3, (x, y, into, at) => {
    const bend = unit * 0.2 * noise(offset, y / span);
    const hue = 0.5 + 0.9 * noise(x / span / 1.4 + offset, y / span / 1.4);
    const cloud = 0.5 + 0.7 * fractal(noise, (x + bend) / span + offset, y / span, 5);
    const gas = Math.min(1, Math.max(0, cloud) ** 2.2 * 1.05);
    const share = Math.min(1, Math.max(0, hue));
    for (let c = 0; c < 3; c++) {
      const tone = (cold[c] as number) + ((warm[c] as number) - (cold[c] as number)) * share;
      const color = (dark[c] as number) + (tone - (dark[c] as number)) * gas;
      into[at + c] = color + 90 * Math.max(0, gas - 0.6);
    }
  });
  return [backdrop(field, height), ...stars(stage, 1, height * 2)];
}

/** A layer that a field of colours paints all over. */
function backdrop(field: Field, bottom: number): Layer {
  return { top: 0, bottom: Math.ceil(bottom), paint: ({ pixels }, y) => field(y, pixels) };
}

function orbLayers({ light, orb: { x, y, radius } }: Stage): Layer[] {
  const disc = [glow(x, y, radius * 2.6, light.orb, 0.5), fill([circle(x, y, radius)], light.orb)];
  if (light.stars < 1) return disc;
  const plains = [
    circle(x - 0.3 * radius, y - 0.25 * radius, 0.3 * radius),
    circle(x + 0.22 * radius, y + 0.1 * radius, 0.24 * radius),
    circle(x - 0.2 * radius, y + 0.42 * radius, 0.2 * radius),
  ];
  return [...disc, fill(plains, brighter(light.orb, 0.86), 0.7)];
}

/** How much cloud there is at a place, 0 to 1. */
function clouds(stage: Stage): (x: number, y: number) => number {
  const { unit, horizon, noise, light } = stage;
  if (isExcluded(stage, "cloud")) return () => 0;
  const draw = stage.random("clouds");
  const isOvercast = light.lamps === 1 && light.stars === 0;
  const cover = draw.between(-0.02, 0.22) - (isOvercast ? 0.2 : 0);
  const [drift, flatness] = [draw.between(0, 90), draw.between(2.4, 4)];
  return (x, y) => {
    const level = y / horizon;
    const flat = unit * (0.2 - 0.14 * level);
    const amount = fractal(noise, x / (flat * flatness) + drift, y / flat, 4) - cover;
    return Math.min(0.85, Math.max(0, amount * 2.6)) * (1 - level * 0.35);
  };
}

/** Stars down to `bottom`; `amount` 1 is a clear night, 0 is none. */
function stars(stage: Stage, amount: number, bottom: number): Layer[] {
  if (amount <= 0 || isExcluded(stage, "star")) return [];
  const { width, unit } = stage;
  const draw = stage.random("stars");
  const count = Math.round(Math.min(2400, (260 * width * bottom) / unit ** 2) * amount);
  // The square root thins the sky out towards the hazy horizon.
  const place = (): Point => [draw.between(0, width), bottom * (1 - Math.sqrt(1 - draw.next())) * 0.98];
  const dots = (many: number, from: number, to: number) =>
    Array.from({ length: many }, () => circle(...place(), unit * draw.between(from, to)));
  const sparks = Array.from({ length: Math.ceil(count / 40) }, () =>
    glow(...place(), unit * draw.between(0.006, 0.014), draw.pick(STARLIGHT), 0.9),
  );
  return [
    fill(dots(count, 0.0008, 0.0014), draw.pick(STARLIGHT), 0.55 * amount),
    fill(dots(Math.ceil(count / 5), 0.0014, 0.0026), draw.pick(STARLIGHT), 0.9 * amount),
    ...sparks,
  ];
}

/** Drops of rain or flakes of snow: how many to the size of the picture, how large, how dense. */
const FALLING = {
  snow: [
    [260, 0.0022, 0.75],
    [90, 0.0042, 0.9],
    [16, 0.008, 0.55],
  ],
  rain: [
    [240, 0.0032, 0.35],
    [60, 0.006, 0.35],
  ],
} as const;

/** What falls in front of everything. */
export function weather(stage: Stage): Layer[] {
  const { width, height, unit, light, setting } = stage;
  const kind = stage.weather;
  if (kind === undefined || kind === "mist" || setting === "space") return [];
  const draw = stage.random("weather");
  const slant = draw.between(-2.4, 2.4);
  const color = kind === "snow" ? mix(SNOW, light.haze, 0.1) : mix(light.haze, hex("ffffff"), 0.4);
  return FALLING[kind].map(([many, size, opacity]) => {
    const count = Math.min(900, Math.ceil(((width * height) / unit ** 2) * many));
    const drops = Array.from({ length: count }, () => {
      const [x, y] = [draw.between(0, width), draw.between(0, height)];
      const length = unit * size * draw.between(0.6, 1.3);
      if (kind === "snow") return circle(x, y, length);
      return ribbon(
        [
          [x, y],
          [x + slant * length, y + length * 12],
        ],
        () => Math.max(0.7, length * 0.3),
      );
    });
    return fill(drops, color, opacity);
  });
}
