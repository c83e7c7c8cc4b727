import { fill, fillShaded, type Shader } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { ellipse, type Outline, type Point, rectangle } from "../canvas/outline.ts";
import { hex, mix, type Rgb } from "../color/rgb.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";

const WHITEWASH = hex("f6efe2");
const RED = hex("c9382f");
const IRON = hex("3a3d46");
const LAMP = hex("fff1b8");

/** A banded tower with its lamp lit, and the beam when it is dark enough. */
export function lighthouse(stage: Stage, spot: Spot): Layer[] {
  const { light } = stage;
  const tall = Math.min(spot.height, spot.reach * 4.2);
  const tower = { ...spot, tall, foot: tall * 0.115, neck: tall * 0.07, lampY: spot.y - tall * 0.885 };
  const beam = light.lamps > 0 ? beams(stage, tower) : [];
  return [
    ...beam,
    cottage(stage, tower),
    roof(stage, tower),
    ...shaft(stage, tower),
    ...lantern(stage, tower),
    ...(light.lamps > 0 ? [glow(tower.x, tower.lampY, tall * 0.34, LAMP, 0.75 * light.lamps)] : []),
    fill([ellipse(tower.x, tower.lampY, tall * 0.024, tall * 0.03)], LAMP),
  ];
}

interface Tower extends Spot {
  readonly tall: number;
  readonly foot: number;
  readonly neck: number;
  readonly lampY: number;
}

function shaft(stage: Stage, tower: Tower): Layer[] {
  const { x, y, tall, foot, neck } = tower;
  const top = y - tall * 0.82;
  const outline: Point[] = [
    [x - neck, top],
    [x + neck, top],
    [x + foot, y + tall * 0.02],
    [x - foot, y + tall * 0.02],
  ];
  const windows = [0.24, 0.46, 0.68].map((up) =>
    rectangle(x - tall * 0.012, y - tall * up, tall * 0.024, tall * 0.04),
  );
  const pane = mix(lit(stage, IRON), LAMP, stage.light.lamps * 0.85);
  return [fillShaded([outline], paintwork(stage, tower, stage.accent ?? RED)), fill(windows, pane)];
}

/** Bands of paint around a round tower: bright towards the light, dark away from it. */
function paintwork(stage: Stage, tower: Tower, color: Rgb): Shader {
  const bands = [lit(stage, WHITEWASH), lit(stage, color)];
  const side = lightSide(stage);
  return (x, y, into) => {
    const up = Math.max(0, tower.y - y) / (tower.tall * 0.82);
    const across = (x + 0.5 - tower.x) / (tower.foot + (tower.neck - tower.foot) * up);
    // Bands sag at the edges, because one looks up at them.
    const band = bands[Math.floor(up * 5 + 0.12 * across * across) & 1] as Rgb;
    const shade = 0.86 + 0.3 * across * side - 0.22 * across * across;
    const glare = Math.max(0, across * side - 0.2) * 0.35;
    for (let c = 0; c < 3; c++) {
      const plain = (band[c] as number) * shade;
      into[c] = plain + ((stage.light.glow[c] as number) - plain) * glare;
    }
  };
}

function lantern(stage: Stage, tower: Tower): Layer[] {
  const { x, y, tall, neck } = tower;
  const at = (up: number) => y - tall * up;
  const gallery: Outline = [
    rectangle(x - neck * 1.35, at(0.835), neck * 2.7, tall * 0.018),
    ...[-1.3, -0.65, 0, 0.65, 1.25].map((i) => rectangle(x + neck * i, at(0.87), tall * 0.005, tall * 0.04)),
    rectangle(x - neck * 1.35, at(0.872), neck * 2.7, tall * 0.006),
  ];
  const glass = rectangle(x - neck * 0.62, at(0.925), neck * 1.24, tall * 0.09);
  const bars = [-0.62, -0.2, 0.2, 0.56].map((i) =>
    rectangle(x + neck * i, at(0.925), tall * 0.006, tall * 0.09),
  );
  const dome: Point[] = [
    [x - neck * 0.85, at(0.925)],
    [x - neck * 0.5, at(0.962)],
    [x, at(0.985)],
    [x + neck * 0.5, at(0.962)],
    [x + neck * 0.85, at(0.925)],
  ];
  const mast = rectangle(x - tall * 0.004, at(1), tall * 0.008, tall * 0.03);
  const iron = lit(stage, IRON);
  const pane = mix(lit(stage, hex("bcd4dc")), LAMP, stage.light.lamps * 0.7);
  return [fill([glass], pane), fill([...gallery, ...bars, dome, mast], iron)];
}

function cottage(stage: Stage, tower: Tower): Layer {
  const { x, y, tall } = tower;
  const side = lightSide(stage);
  const left = side > 0 ? x + tall * 0.03 : x - tall * 0.27;
  return fill([rectangle(left, y - tall * 0.1, tall * 0.24, tall * 0.13)], lit(stage, WHITEWASH, 0.08));
}

function roof(stage: Stage, tower: Tower): Layer {
  const { x, y, tall } = tower;
  const left = lightSide(stage) > 0 ? x + tall * 0.01 : x - tall * 0.29;
  const ridge: Point[] = [
    [left, y - tall * 0.095],
    [left + tall * 0.05, y - tall * 0.175],
    [left + tall * 0.23, y - tall * 0.175],
    [left + tall * 0.28, y - tall * 0.095],
  ];
  return fill([ridge], lit(stage, hex("8a3b32")));
}

function beams(stage: Stage, tower: Tower): Layer[] {
  const length = Math.max(stage.width, stage.unit) * 1.1;
  return [1, -1].map((side) => {
    const far = tower.x + side * lightSide(stage) * length;
    const rise = side > 0 ? 0.1 : 0.03;
    const outline: Point[] = [
      [tower.x, tower.lampY],
      [far, tower.lampY - length * (rise + 0.07)],
      [far, tower.lampY - length * (rise - 0.07)],
    ];
    return fillShaded([outline], (x, y, into) => {
      const away = Math.abs(x - tower.x);
      const gone = Math.min(1, away / (length * (side > 0 ? 0.75 : 0.35)));
      const off = (tower.lampY - y - away * rise) / (away * 0.07 + 1);
      into.set(LAMP);
      into[3] = 0.55 * (1 - gone) ** 2 * Math.max(0, 1 - off * off) * stage.light.lamps;
    });
  });
}
