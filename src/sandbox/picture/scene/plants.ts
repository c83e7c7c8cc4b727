import { ellipse, type Outline, type Point, ribbon } from "../canvas/outline.ts";
import type { Random } from "../seed/random.ts";

/** A conifer with its foot at (`x`, `y`); all lengths in pixels. */
export function pine(draw: Random, x: number, y: number, tall: number): Point[] {
  const tiers = draw.integer(6, 9);
  const half = tall * draw.between(0.15, 0.22);
  const left: Point[] = [];
  const right: Point[] = [];
  for (let i = 0; i < tiers; i++) {
    const up = 1 - (i / tiers) * 0.9;
    const down = 1 - ((i + 1.25) / tiers) * 0.9;
    const reach = half * ((i + 1) / tiers) ** 0.85;
    left.push([x - reach * 0.28, y - tall * up], [x - reach * draw.between(0.85, 1.1), y - tall * down]);
    right.unshift([x + reach * draw.between(0.85, 1.1), y - tall * down], [x + reach * 0.28, y - tall * up]);
  }
  const trunk = tall * 0.02;
  return [
    [x, y - tall * 1.04],
    ...left,
    [x - trunk, y - tall * 0.06],
    [x - trunk, y],
    [x + trunk, y],
    [x + trunk, y - tall * 0.06],
    ...right,
  ];
}

/** A trunk that forks into a few boughs. */
export function trunk(draw: Random, x: number, y: number, tall: number): Outline {
  const lean = draw.between(-0.05, 0.05) * tall;
  const body = ribbon(
    [
      [x, y + tall * 0.02],
      [x + lean * 0.4, y - tall * 0.25],
      [x + lean, y - tall * 0.62],
    ],
    (t) => tall * (0.1 - 0.065 * t),
  );
  const boughs = [-0.26, -0.1, 0.12, 0.25].map((side) =>
    ribbon(
      [
        [x + lean * 0.5, y - tall * 0.3],
        [x + lean + side * tall * 0.5, y - tall * 0.48],
        [x + lean + side * tall, y - tall * 0.68],
      ],
      (t) => tall * (0.045 - 0.035 * t),
    ),
  );
  return [body, ...boughs];
}

/** A crown of leaves as a heap of rounded clumps; `size` scales the clumps, `lift` moves them up. */
export function crown(draw: Random, x: number, y: number, tall: number, size: number, lift: number): Outline {
  return Array.from({ length: 20 }, () => {
    const angle = draw.between(0, 2 * Math.PI);
    const away = Math.sqrt(draw.next());
    const across = Math.cos(angle) * away * tall * 0.3;
    const up = tall * (0.64 + lift) - Math.sin(angle) * away * tall * 0.3;
    const radius = tall * size * draw.between(0.07, 0.12);
    return ellipse(x + across, y - up, radius * 1.15, radius);
  });
}

/** Blades of grass along a line, their feet at `footAt`. */
export function grass(
  draw: Random,
  width: number,
  footAt: (x: number) => number,
  tall: number,
  count: number,
): Outline {
  return Array.from({ length: count }, () => {
    const x = draw.between(-0.01, 1.01) * width;
    const y = footAt(x) + tall * 0.1;
    const lean = draw.between(-0.45, 0.45) * tall;
    const up = tall * draw.between(0.45, 1);
    return ribbon(
      [
        [x, y],
        [x + lean * 0.3, y - up * 0.6],
        [x + lean, y - up],
      ],
      (t) => tall * 0.07 * (1 - t) + 0.1,
    );
  });
}
