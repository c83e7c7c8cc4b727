import type { PlantName, PropName } from "./surroundings.ts";

/** How a subject is carried. */
export type Footing = "ground" | "water" | "air";

/** What a hill is made of. */
export type Soil = "far" | "near" | "rock" | "wood" | "sand";

/** `span` is the distance between crests; `rugged` runs from 1, which is smooth, to 5. */
export type Hill = readonly [
  "hill",
  at: number,
  rise: number,
  span: number,
  rugged: number,
  far: number,
  soil: Soil,
];

/** On the last hill; `many` to the size of the picture; `down` moves them towards the viewer. */
export type Plants = readonly [
  "plants",
  plant: PlantName | "flower" | "leafy",
  many: number,
  tall: number,
  far: number,
  down: number,
];

/**
 * A layer of a setting, painted in the order of the list. `at` runs from 0 at the horizon to 1 at the lower edge;
 * `far` from 0 (here) to 1 (lost in haze); all other lengths are shares of the size of the picture. A subject
 * without `at` stands on the last hill.
 */
export type Part =
  | readonly ["sky" | "nebula" | "forms"]
  | readonly ["water" | "waves", only?: "afloat" | "unless grounded"]
  | readonly ["peaks" | "towers", tall: number, far: number]
  | Hill
  | Plants
  | readonly ["prop", prop: PropName, at: number, only?: "grounded"]
  | readonly ["subject", on: Footing, tall: number, at?: number, up?: number];

const PEAKS = [
  ["peaks", 0.3, 0.62],
  ["peaks", 0.52, 0.2],
] as const;

export const SCENERIES = {
  sea: [
    ["sky"],
    ["hill", 0.02, 0.09, 0.5, 4, 0.66, "far"],
    ["hill", 0.02, 0.06, 0.4, 4, 0.45, "rock"],
    ["prop", "island", 0, "grounded"],
    ["subject", "ground", 0.62, 0, 0.1],
    ["water"],
    ["subject", "water", 0.5, 0.28],
    ["waves"],
  ],
  lake: [
    ["sky"],
    ...PEAKS,
    ["hill", 0.02, 0.03, 0.6, 2, 0.25, "wood"],
    ["plants", "pine", 110, 0.06, 0.25, 0],
    ["subject", "ground", 0.42],
    ["water"],
    ["subject", "water", 0.42, 0.4],
    ["waves"],
    ["hill", 0.93, 0.05, 0.6, 2, 0, "wood"],
    ["plants", "pine", 26, 0.14, 0.04, 0.2],
  ],
  mountains: [
    ["sky"],
    ...PEAKS,
    ["hill", 0.2, 0.07, 0.6, 2, 0.32, "wood"],
    ["plants", "pine", 90, 0.07, 0.32, 0],
    ["hill", 0.62, 0.09, 0.6, 2, 0.05, "near"],
    ["plants", "pine", 34, 0.15, 0.06, 0],
    ["subject", "ground", 0.46],
    ["water", "afloat"],
    ["subject", "water", 0.42, 0.4],
    ["waves", "afloat"],
  ],
  city: [
    ["sky"],
    ["towers", 0.75, 0.62],
    ["towers", 0.6, 0.36],
    ["towers", 0.42, 0.1],
    ["prop", "roof", 0.74, "grounded"],
    ["subject", "ground", 0.6, 0.74],
    ["water", "unless grounded"],
    ["subject", "water", 0.4, 0.45],
    ["waves", "unless grounded"],
  ],
  forest: [
    ["sky"],
    ["hill", 0.05, 0.02, 0.6, 2, 0.7, "wood"],
    ["plants", "leafy", 10, 0.4, 0.7, 0.02],
    ["hill", 0.15, 0.02, 0.6, 2, 0.5, "wood"],
    ["plants", "leafy", 8, 0.48, 0.5, 0.02],
    ["hill", 0.26, 0.02, 0.6, 2, 0.3, "wood"],
    ["plants", "leafy", 6, 0.56, 0.32, 0.02],
    ["hill", 0.42, 0.03, 0.6, 2, 0.12, "near"],
    ["plants", "grass", 60, 0.04, 0.1, 0],
    ["subject", "ground", 0.46],
    ["plants", "grass", 22, 0.11, 0, 1.05],
  ],
  meadow: [
    ["sky"],
    ["hill", 0, 0.06, 0.65, 1, 0.5, "near"],
    ["plants", "leafy", 7, 0.11, 0.5, 0],
    ["hill", 0.2, 0.05, 0.65, 1, 0.3, "near"],
    ["plants", "leafy", 6, 0.13, 0.3, 0],
    ["hill", 0.42, 0.04, 0.65, 1, 0.1, "near"],
    ["plants", "grass", 60, 0.035, 0.1, 0],
    ["subject", "ground", 0.5],
    ["plants", "flower", 24, 0.05, 0.12, 0.14],
    ["plants", "flower", 20, 0.08, 0.1, 0.32],
    ["plants", "flower", 15, 0.13, 0.06, 0.6],
    ["plants", "flower", 11, 0.2, 0.03, 0.9],
    ["plants", "flower", 9, 0.25, 0, 1.15],
  ],
  desert: [
    ["sky"],
    ["hill", 0.02, 0.07, 0.5, 3, 0.55, "rock"],
    ["hill", 0.08, 0.07, 0.7, 1, 0.5, "sand"],
    ["hill", 0.18, 0.09, 0.7, 1, 0.34, "sand"],
    ["hill", 0.38, 0.12, 0.7, 1, 0.2, "sand"],
    ["subject", "ground", 0.44],
    ["hill", 0.66, 0.15, 0.7, 1, 0.05, "sand"],
    ["plants", "cactus", 2.6, 0.18, 0, 0.06],
  ],
  space: [["nebula"], ["subject", "ground", 0.42, 0.72], ["subject", "water", 0.42, 0.72]],
  studio: [
    ["prop", "wall", 0.6],
    ["subject", "ground", 1, 1],
  ],
  table: [
    ["prop", "alcove", 0.4],
    ["prop", "table", 0.1],
    ["subject", "ground", 0.56, 0.55],
  ],
  forms: [["forms"], ["subject", "ground", 0.5, 0.3], ["subject", "water", 0.5, 0.3]],
} as const satisfies Record<string, readonly Part[]>;

export type SceneryName = keyof typeof SCENERIES;
