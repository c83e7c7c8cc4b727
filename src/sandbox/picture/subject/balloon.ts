import { fill, fillShaded } from "../canvas/fill.ts";
import { glow } from "../canvas/glow.ts";
import type { Layer } from "../canvas/layer.ts";
import { path } from "../canvas/path.ts";
import { hex, type Rgb } from "../color/rgb.ts";
import { lightSide, lit, type Stage } from "../scene/stage.ts";
import type { Spot } from "../setting/setting.ts";

const ENVELOPE = "M50 0 C 72 0 88 16 88 37 C 88 55 70 66 60 80 L 40 80 C 30 66 12 55 12 37 C 12 16 28 0 50 0";

/** A hot-air balloon, with small ones far behind it. `spot` is where it hovers. */
export function balloon(stage: Stage, spot: Spot): Layer[] {
  const draw = stage.random("balloon");
  const tall = Math.min(spot.height, spot.reach * 2.2, spot.y * 1.5);
  const far = Array.from({ length: 3 }, () => {
    const size = tall * draw.between(0.14, 0.3);
    return one(
      stage,
      stage.width * draw.between(0.06, 0.94),
      stage.horizon * draw.between(0.2, 0.8),
      size,
      0.45,
    );
  });
  return [...far.flat(), ...one(stage, spot.x, spot.y, tall, 0)];
}

function one(stage: Stage, x: number, y: number, tall: number, distance: number): Layer[] {
  const u = tall / 100;
  const draw = stage.random(`balloon ${Math.round((x / stage.unit) * 100)}`);
  const at = { x: x - 50 * u, y: y - 50 * u, scaleX: u, scaleY: u };
  const first = lit(
    stage,
    stage.accent ?? draw.pick([hex("d8402f"), hex("2f7fb8"), hex("7a4fb0"), hex("e08a2f")]),
    distance,
  );
  const colors: readonly Rgb[] = [
    first,
    lit(stage, hex("f8e8c8"), distance),
    first,
    lit(stage, hex("f0b540"), distance),
  ];
  const side = lightSide(stage);
  const envelope = fillShaded([path(ENVELOPE, at)], (px, py, into) => {
    const up = Math.min(1, Math.max(0, (py - at.y) / (80 * u)));
    const half =
      u *
      (up < 0.46
        ? 38 * Math.sqrt(Math.max(0.02, 1 - ((0.46 - up) / 0.47) ** 2))
        : 38 - 28 * ((up - 0.46) / 0.54) ** 1.15);
    const across = Math.max(-1, Math.min(1, (px - x) / half));
    // Gores are evenly wide on the cloth, so they narrow towards the sides.
    const color = colors[Math.floor((Math.asin(across) / Math.PI + 0.5) * 7.99) & 3] as Rgb;
    const shade = 0.82 + 0.26 * across * side - 0.12 * across * across - 0.18 * up * up;
    for (let c = 0; c < 3; c++)
      into[c] = Math.min(255, (color[c] as number) * shade + (stage.light.glow[c] as number) * 0.08);
  });
  const ropes = [
    "M41 80 L 44.4 91 L 45 91 L 42 80",
    "M59 80 L 55.6 91 L 55 91 L 58 80",
    "M49.7 80 L 49.7 91 L 50.3 91 L 50.3 80",
  ].map((rope) => path(rope, at));
  const basket = path("M43.6 91 L 56.4 91 L 55 100 L 45 100", at);
  const flame = stage.light.lamps > 0 ? [glow(x, y + 29 * u, 22 * u, hex("ffc35e"), 0.6)] : [];
  return [envelope, ...flame, fill([...ropes, basket], lit(stage, hex("6a4630"), distance))];
}
