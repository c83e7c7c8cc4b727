import { hexes, mix } from "../canvas/color.ts";
import { fill, glow, type Layer } from "../canvas/fill.ts";
import { circle, ellipse } from "../canvas/outline.ts";
import { fractal, type Sampler, softField } from "../random.ts";
import { SNOW } from "./drawing.ts";
import { covering, isExcluded, type Part, type Stage } from "./stage.ts";

const STARLIGHT = hexes("ffffff cfe0ff fff0d0");

/** The sky down to what covers it, with clouds, stars, sun or moon. */
export const sky: Part = (stage) => {
  const { light, orb, unit, horizon, width, height, noise, random } = stage;
  const isNight = light.stars === 1;
  const reach = (unit * (isNight ? 0.16 : 0.3)) ** 2;
  const draw = random("clouds");
  const isOvercast = light.lamps === 1 && light.stars === 0;
  const clear = isExcluded(stage, "cloud") ? 1 : draw.between(-0.02, 0.22) - (isOvercast ? 0.2 : 0);
  const [drift, flatness] = [draw.between(0, 90), draw.between(2.4, 4)];
  const stops = light.sky.length - 1;
  const sample: Sampler = (x, y, into, at) => {
    const level = Math.min(y / horizon, 1);
    const stop = Math.min(stops - 1, Math.floor(level * stops));
    const [upper, lower] = [light.sky[stop] ?? light.haze, light.sky[stop + 1] ?? light.haze];
    const share = 0.85 / (1 + ((x - orb.x) ** 2 + (y - orb.y) ** 2 * 1.7) / reach);
    const flat = unit * (0.2 - 0.14 * level);
    const amount = y > horizon ? 0 : fractal(noise, x / (flat * flatness) + drift, y / flat, 4) - clear;
    const cover = Math.min(0.85, Math.max(0, amount * 2.6)) * (1 - level * 0.35);
    const plain = mix(mix(upper, lower, level * stops - stop), light.glow, share);
    into.set(mix(plain, mix(light.cloud, light.glow, level * 0.5), cover), at);
  };
  const shine = glow(orb.x, orb.y, orb.radius * 2.6, light.orb, 0.5);
  const disc = fill([circle(orb.x, orb.y, orb.radius)], light.orb);
  const isDark = isExcluded(stage, isNight ? "moon" : "sun");
  const field = softField(width, 3, sample);
  const air: Layer = { top: 0, bottom: height, paint: ({ pixels }, y) => field(y, pixels) };
  return [covering(stage, air, 0), ...stars(stage), ...(isDark ? [] : [shine, disc])];
};

function stars(stage: Stage): Layer[] {
  const { width, unit, horizon, light } = stage;
  const amount = light.stars;
  if (amount === 0 || isExcluded(stage, "star")) return [];
  const draw = stage.random("stars");
  const count = Math.round(Math.min(2400, (260 * width * horizon) / unit ** 2) * amount);
  // The square root thins the sky out towards the hazy horizon.
  const dots = (many: number, from: number, to: number) =>
    Array.from({ length: many }, () => {
      const y = horizon * (1 - Math.sqrt(1 - draw.next())) * 0.98;
      return circle(draw.between(0, width), y, unit * draw.between(from, to));
    });
  return [
    fill(dots(count, 0.0008, 0.0014), draw.pick(STARLIGHT), 0.55 * amount),
    fill(dots(Math.ceil(count / 5), 0.0014, 0.0026), draw.pick(STARLIGHT), 0.9 * amount),
  ];
}

/** Rain or snow, which falls in front of everything. */
export const weather: Part = ({ width, height, unit, light, weather: kind, random }) => {
  if (kind === undefined || kind === "mist") return [];
  const draw = random("weather");
  const slant = draw.between(-12, 12);
  const many = (width * height * 300) / unit ** 2;
  const drops = Array.from({ length: Math.min(900, Math.ceil(many)) }, () => {
    const [x, y, size] = [
      draw.between(0, width),
      draw.between(0, height),
      unit * draw.between(0.0016, 0.005),
    ];
    if (kind === "snow") return circle(x, y, size);
    return ellipse(x, y, Math.max(0.5, size * 0.15), size * 6, slant, 8);
  });
  return [fill(drops, mix(SNOW, light.haze, kind === "snow" ? 0.1 : 0.4), kind === "snow" ? 0.8 : 0.4)];
};
