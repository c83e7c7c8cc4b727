import { brighter, mix } from "../canvas/color.ts";
import { fading, fill, type Ink, type Layer } from "../canvas/fill.ts";
import type { Point } from "../canvas/outline.ts";
import { fractal, softField } from "../random.ts";
import { SNOW } from "./drawing.ts";
import { covering, lit, type Part, type Stage } from "./stage.ts";

/**
 * A ridge of hills or peaks, down to where the next one covers it.
 * @param at where it stands: from 0 at the horizon to 1 at the lower edge
 * @param rise how far it rises, as a share of the size of the picture
 * @param span how far apart its crests are, likewise
 * @param rugged from 1, which is smooth, to 5
 * @param far from 0 (here) to 1 (lost in haze)
 */
export function ridge(
  soil: "peaks" | "rock" | "wood" | "grass",
  at: number,
  rise: number,
  span: number,
  rugged: number,
  far: number,
): Part {
  return (stage) => {
    const { width, height, horizon, unit, noise, light, land, isWinter } = stage;
    const draw = stage.random(`ridge ${at} ${far}`);
    const [offset, wide] = [draw.between(0, 200), unit * span * draw.between(0.8, 1.2)];
    const tall = Math.min(horizon * 0.8, unit * rise * draw.between(0.8, 1.15));
    const base = horizon + (height - horizon) * at;
    stage.crest = (x) => {
      const up = fractal(noise, x / wide + offset, offset, rugged);
      return base - tall * (soil === "peaks" ? 1 - 1.8 * Math.abs(up) : up);
    };
    const crest = new Float32Array(width + 1).map((_, x) => stage.crest(x));
    const every = Math.ceil(width / 1024);
    const line = Array.from(crest, (y, x): Point => [x, y]).filter((_, x) => x % every === 0 || x === width);
    const [left, right] = [crest[0] as number, crest[width] as number];
    const bottom = Math.min(height, base + tall + (height - horizon) * 0.6);
    const outline: Point[] = [[-2, left], ...line, [width + 2, right], [width + 2, bottom], [-2, bottom]];
    const soils = {
      peaks: land.rock,
      rock: land.rock,
      grass: land.near,
      wood: brighter(land.foliage[0], 0.6),
    };
    const color = lit(stage, isWinter ? mix(soils[soil], SNOW, 0.8) : soils[soil], far);
    const ink =
      soil === "peaks" && far < 0.5
        ? faces(stage, crest, far)
        : fading(
            mix(color, light.glow, 0.2),
            mix(brighter(color, 0.6 + 0.4 * far), light.haze, soil === "peaks" ? 0.7 : 0),
          );
    const lowest = crest.reduce((low, y) => Math.max(low, y), 0);
    return [covering(stage, fill([outline], ink), lowest)];
  };
}

/** Rock and snow, lit from the side the sun is on: below each point of the crest runs a ridge of its own. */
function faces(stage: Stage, crest: Float32Array, far: number): Ink {
  const { unit, noise, land, light, horizon, width, side } = stage;
  const reach = Math.max(1, Math.round(unit * 0.016));
  const slope = crest.map((_, x) => {
    const rise = (crest[Math.min(width, x + reach)] as number) - (crest[Math.max(0, x - reach)] as number);
    return 0.5 - (side * rise * 0.55) / reach;
  });
  const { haze } = light;
  const [rockDark, rockBright] = [
    lit(stage, brighter(land.rock, 0.5), far),
    lit(stage, brighter(land.rock, 1.15), far),
  ] as const;
  const [snowDark, snowBright] = [
    lit(stage, brighter(SNOW, 0.66), 0.12),
    mix(lit(stage, SNOW, 0.1), light.glow, 0.3),
  ];
  const snowDepth = unit * (0.06 + 0.2 * land.snow);
  // Two values for each pixel: where the ridge wanders to, and the grit of the stone.
  const texture = softField(
    width,
    2,
    (x, y, into, at) => {
      into[at] = fractal(noise, x / (unit * 0.09), y / (unit * 0.16), 2);
      into[at + 1] = noise(x / (unit * 0.014), y / (unit * 0.03));
    },
    Math.max(1, Math.round(unit / 450)),
  );
  const row = new Float32Array(width * 2);
  return (y, into) => {
    texture(y, row);
    const fog = Math.min(0.8, Math.max(0, (y - horizon + unit * 0.2) / (unit * 0.3)));
    return (x) => {
      const wander = row[x * 2] as number;
      const grit = row[x * 2 + 1] as number;
      const depth = y - (crest[x] as number);
      const from = Math.min(width, Math.max(0, Math.round(x + depth * (0.42 * wander + 0.05 * grit))));
      const facing = Math.min(1, Math.max(0, (slope[from] as number) + grit * 0.1));
      const isSnow = depth < snowDepth * (1 + 0.8 * wander + 0.35 * grit);
      const dark = isSnow ? snowDark : rockDark;
      const bright = isSnow ? snowBright : rockBright;
      for (let c = 0; c < 3; c++)
        into[c] = between(between(dark[c] as number, bright[c] as number, facing), haze[c] as number, fog);
    };
  };
}

const between = (from: number, to: number, share: number) => from + (to - from) * share;

/** Water from the horizon down: it mirrors what is above, and breaks the light of the sun on its waves. */
export const water: Part = (stage) => {
  const { width, height, horizon, unit, noise, orb, light, land } = stage;
  const line = Math.round(horizon);
  // In a large picture, some of the rows will do: waves blur what they mirror.
  const every = Math.ceil(height / 1024);
  const kept: Uint8ClampedArray[] = [];
  const keep: Layer = {
    top: 0,
    bottom: line,
    paint({ pixels }, y) {
      if (y % every === 0) kept.push(new Uint8ClampedArray(pixels));
    },
  };
  // What is above the line may be lower than the water is deep: then the reflection is stretched.
  const stretch = Math.min(1, line / Math.max(1, height - line)) / every;
  const swell = unit * 0.03;
  const depthAt = (y: number) => (y - line) / (height - line);
  const rippleAt = (y: number) => Math.max(0.5, swell * (0.06 + 0.42 * depthAt(y)));
  const shifts = softField(width, 1, (x, y, into, at) => {
    const ripple = rippleAt(y);
    into[at] = swell * (0.08 + depthAt(y)) * noise(x / (ripple * 7), y / ripple);
  });
  const shift = new Float32Array(width);
  const [color, shine] = [lit(stage, land.water), mix(light.orb, light.glow, 0.25)];
  const surface: Layer = {
    top: line,
    bottom: height,
    paint({ pixels }, y) {
      shifts(y, shift);
      const depth = depthAt(y + 0.5);
      const source = kept[
        Math.max(0, kept.length - 1 - Math.floor((y - line) * stretch))
      ] as Uint8ClampedArray;
      const ripple = rippleAt(y);
      const spread = orb.radius * (0.9 + 2.4 * depth) + unit * 0.03 * noise(y / ripple / 2, 8.1);
      for (let x = 0, at = 0; x < width; x++) {
        const from = Math.min(width - 1, Math.max(0, Math.round(x + (shift[x] as number)))) * 3;
        const off = Math.abs(x - orb.x) / spread;
        const wave = off < 2.2 ? noise(x / (ripple * 5) + 31, y / ripple) + 0.75 - off * 0.8 : 0;
        const share = Math.min(0.8, Math.max(0, wave * 1.6)) * (1 - depth * 0.45);
        for (let c = 0; c < 3; c++, at++) {
          const mirrored = between(source[from + c] as number, color[c] as number, 0.12 + 0.48 * depth);
          pixels[at] = between(mirrored, shine[c] as number, share);
        }
      }
    },
  };
  return [keep, covering(stage, surface, line)];
};
