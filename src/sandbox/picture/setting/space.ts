import { fill, fillShaded, type Shader } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { circle, ellipse, type Outline, type Point } from "../canvas/outline.ts";
import { softly, softStep } from "../canvas/soft.ts";
import { hex, mix, type Rgb } from "../color/rgb.ts";
import type { Stage } from "../scene/stage.ts";
import { stars } from "../scene/stars.ts";
import { fractal } from "../seed/noise.ts";
import type { Random } from "../seed/random.ts";
import type { Setting } from "./setting.ts";

type Pair = readonly [Rgb, Rgb];

const PLANETS: readonly [Pair, ...Pair[]] = [
  [hex("e8b07a"), hex("8f4a3c")],
  [hex("7fc4d8"), hex("2b4f8f")],
  [hex("d9a0c8"), hex("5f3a86")],
  [hex("9fd0a0"), hex("2f6f6a")],
  [hex("f2d39a"), hex("a8703f")],
];
const NEBULAE: readonly [Pair, ...Pair[]] = [
  [hex("7a3fa8"), hex("1f6fa8")],
  [hex("c0407a"), hex("3a3fb0")],
  [hex("1f8f8a"), hex("5a3fb8")],
  [hex("d06a3a"), hex("7a2f8f")],
];

/** Deep space: a nebula, stars, a ringed planet and its moon. */
export function space(stage: Stage): Setting {
  const { width, height, unit } = stage;
  const draw = stage.random("space");
  const side = width < height ? 0.5 : draw.pick([0.62, 0.38]);
  const radius = Math.min(unit * draw.between(0.2, 0.27), width * 0.26, height * 0.36);
  const x = width * side;
  const y = height * draw.between(0.4, 0.52);
  const tall: Stage = { ...stage, horizon: height * 2 };
  return {
    back: [
      nebula(stage, draw),
      ...stars(tall, 1),
      ...planet(stage, draw, x, y, radius),
      ...companion(stage, draw, x, y, radius),
    ],
    front: [],
    spot: {
      x: width * (side === 0.5 ? 0.3 : 1 - side),
      y: height * 0.82,
      height: Math.min(unit * 0.4, height * 0.5),
      reach: Math.min(unit * 0.25, width * 0.3),
    },
  };
}

function nebula(stage: Stage, draw: Random): Layer {
  const { unit, noise, height } = stage;
  const [warm, cold] = draw.pick(NEBULAE);
  const dark = hex("060714");
  const offset = draw.between(0, 200);
  const span = unit * 0.42;
  let [gas, hue] = [new Float32Array(0), new Float32Array(0)];
  return {
    top: 0,
    bottom: height,
    paint({ pixels, width }, y) {
      if (gas.length !== width) [gas, hue] = [new Float32Array(width), new Float32Array(width)];
      const bend = unit * 0.2 * noise(offset, y / span);
      softly(hue, softStep(width), (x) => 0.5 + 0.9 * noise(x / span / 1.4 + offset, y / span / 1.4));
      softly(gas, softStep(width), (x) => {
        const cloud = 0.5 + 0.7 * fractal(noise, (x + bend) / span + offset, y / span, 5);
        return Math.max(0, cloud) ** 2.2 * 1.05;
      });
      for (let x = 0; x < width; x++) {
        const share = Math.min(1, Math.max(0, hue[x] as number));
        const amount = Math.min(1, gas[x] as number);
        for (let c = 0; c < 3; c++) {
          const tone = (cold[c] as number) + ((warm[c] as number) - (cold[c] as number)) * share;
          pixels[x * 3 + c] =
            (dark[c] as number) + (tone - (dark[c] as number)) * amount + 90 * Math.max(0, amount - 0.6);
        }
      }
    },
  };
}

function planet(stage: Stage, draw: Random, x: number, y: number, radius: number): Layer[] {
  const pair = draw.pick(PLANETS);
  const colors: Pair = stage.accent ? [mix(stage.accent, hex("ffffff"), 0.3), stage.accent] : pair;
  const tilt = draw.between(-0.45, 0.45);
  const globe = fillShaded([circle(x, y, radius)], sphere(stage, colors, x, y, radius, tilt));
  const halo = glow(x, y, radius * 1.5, colors[0], 0.4);
  if (draw.chance(0.3)) return [halo, globe];
  const ring = (front: boolean) =>
    fill(
      arcs(x, y, Math.min(radius * 1.85, x * 0.97, (stage.width - x) * 0.97), tilt, front),
      mix(colors[0], hex("fff4e0"), 0.45),
      0.75,
    );
  return [halo, ring(false), globe, ring(true)];
}

/** Two bands of a ring around a globe, either the half in front of it or the half behind. */
function arcs(x: number, y: number, reach: number, tilt: number, front: boolean): Outline {
  const at = (away: number, angle: number): Point => {
    const [u, v] = [Math.cos(angle) * away, Math.sin(angle) * away * 0.24];
    return [x + u * Math.cos(tilt) - v * Math.sin(tilt), y + u * Math.sin(tilt) + v * Math.cos(tilt)];
  };
  const angles = Array.from({ length: 61 }, (_, i) => (i / 60) * Math.PI + (front ? 0 : Math.PI));
  const band = (outer: number, inner: number) => [
    ...angles.map((angle) => at(reach * outer, angle)),
    ...angles.map((angle) => at(reach * inner, angle)).reverse(),
  ];
  return [band(1, 0.9), band(0.87, 0.72)];
}

/** A globe with bands of cloud, lit from the upper left. */
function sphere(
  stage: Stage,
  [bright, dark]: Pair,
  x: number,
  y: number,
  radius: number,
  tilt: number,
): Shader {
  const [cos, sin] = [Math.cos(tilt), Math.sin(tilt)];
  return (px, py, into) => {
    const [u, v] = [(px + 0.5 - x) / radius, (py + 0.5 - y) / radius];
    const w = Math.sqrt(Math.max(0, 1 - u * u - v * v));
    const latitude = -u * sin + v * cos;
    const swirl = stage.noise(u * 3 + 40, latitude * 9 + 40) * 0.25;
    const band = 0.5 + 0.5 * stage.noise(7.7, (latitude + swirl * 0.12) * 8 + 60) + swirl * 0.5;
    const light = Math.max(0, -0.62 * u - 0.5 * v + 0.6 * w);
    const rim = (1 - w) ** 3 * 0.5 * Math.min(1, light * 3);
    const share = Math.min(1, Math.max(0, band));
    for (let c = 0; c < 3; c++) {
      const tone = (dark[c] as number) + ((bright[c] as number) - (dark[c] as number)) * share;
      into[c] = Math.min(255, tone * (0.06 + 1.15 * light) + 255 * rim);
    }
  };
}

function companion(stage: Stage, draw: Random, x: number, y: number, radius: number): Layer[] {
  const side = x < stage.width / 2 ? 1 : -1;
  const small = radius * draw.between(0.14, 0.22);
  const mx = Math.min(stage.width - small * 2, Math.max(small * 2, x + side * radius * 1.9));
  const my = y - radius * draw.between(0.9, 1.4);
  const grey: Pair = [hex("e9e4da"), hex("8d8a92")];
  return [
    glow(mx, my, small * 2, grey[0], 0.25),
    fillShaded([ellipse(mx, my, small, small)], sphere(stage, grey, mx, my, small, 0.7)),
  ];
}
