import type { PlantName } from "./plants.ts";
import type { PropName } from "./props.ts";

/** How a subject is carried. */
export type Footing = "ground" | "water" | "air";

/** What a hill is made of. */
export type Soil = "far" | "near" | "rock" | "wood" | "sand" | "paper";

/**
 * A layer of a setting, painted in the order of the list. `at` runs from 0 at the horizon to 1 at the lower edge;
 * `far` from 0 (here) to 1 (lost in haze); all other lengths are shares of the size of the picture.
 */
export type Part = {
  /** The part is left out unless the subject has this footing; `other` is none, or any but the ground. */
  readonly only?: Footing | "other";
} & (
  | { readonly kind: "sky" | "nebula" | "water" | "waves" | "forms" }
  | { readonly kind: "peaks" | "towers"; readonly tall: number; readonly far: number }
  | Hill
  | Plants
  | { readonly kind: "prop"; readonly prop: PropName; readonly at: number; readonly x: "subject" | "middle" }
  /** Where a subject of this footing is; without `at` it stands on the last hill, `up` over it. */
  | {
      readonly kind: "subject";
      readonly on: Footing;
      readonly tall: number;
      readonly at?: number | undefined;
      readonly up?: number | undefined;
    }
);

export interface Hill {
  readonly kind: "hill";
  readonly at: number;
  readonly rise: number;
  /** The distance between crests. */
  readonly span: number;
  /** 1 is smooth, 5 is rugged. */
  readonly rugged: number;
  readonly soil: Soil;
  readonly far: number;
}

/** Plants on the last hill, `many` to the size of the picture; `down` moves them towards the viewer. */
export interface Plants {
  readonly kind: "plants";
  readonly plant: PlantName | "flower" | "leafy";
  readonly many: number;
  readonly tall: number;
  readonly far: number;
  readonly down: number;
}

const hill = (at: number, rise: number, span: number, rugged: number, soil: Soil, far: number) =>
  ({ kind: "hill", at, rise, span, rugged, soil, far }) as const;
const plants = (plant: Plants["plant"], many: number, tall: number, far: number, down = 0) =>
  ({ kind: "plants", plant, many, tall, far, down }) as const;
const subject = (on: Footing, tall: number, at?: number, up?: number) =>
  ({ kind: "subject", on, tall, at, up }) as const;
const prop = (name: PropName, at: number, x: "subject" | "middle" = "middle") =>
  ({ kind: "prop", prop: name, at, x }) as const;

const SKY = { kind: "sky" } as const;
const WATER = { kind: "water" } as const;
const WAVES = { kind: "waves" } as const;
const PEAKS = [
  { kind: "peaks", tall: 0.3, far: 0.62 },
  { kind: "peaks", tall: 0.52, far: 0.2 },
] as const;

export const SETTINGS = {
  sea: [
    SKY,
    hill(0.02, 0.09, 0.5, 4, "far", 0.66),
    hill(0.02, 0.06, 0.4, 4, "rock", 0.45),
    { ...prop("island", 0, "subject"), only: "ground" },
    subject("ground", 0.62, 0, 0.1),
    WATER,
    subject("water", 0.5, 0.28),
    WAVES,
  ],
  lake: [
    SKY,
    ...PEAKS,
    hill(0.02, 0.03, 0.6, 2, "wood", 0.25),
    plants("pine", 110, 0.06, 0.25),
    subject("ground", 0.42),
    WATER,
    subject("water", 0.42, 0.4),
    WAVES,
    hill(0.93, 0.05, 0.6, 2, "wood", 0),
    plants("pine", 26, 0.14, 0.04, 0.2),
  ],
  mountains: [
    SKY,
    ...PEAKS,
    hill(0.2, 0.07, 0.6, 2, "wood", 0.32),
    plants("pine", 90, 0.07, 0.32),
    hill(0.62, 0.09, 0.6, 2, "near", 0.05),
    plants("pine", 34, 0.15, 0.06),
    subject("ground", 0.46),
    { ...WATER, only: "water" },
    subject("water", 0.42, 0.4),
    { ...WAVES, only: "water" },
  ],
  city: [
    SKY,
    { kind: "towers", tall: 0.75, far: 0.62 },
    { kind: "towers", tall: 0.6, far: 0.36 },
    { kind: "towers", tall: 0.42, far: 0.1 },
    { ...prop("roof", 0.74), only: "ground" },
    subject("ground", 0.6, 0.74),
    { ...WATER, only: "other" },
    subject("water", 0.4, 0.45),
    { ...WAVES, only: "other" },
  ],
  forest: [
    SKY,
    hill(0.05, 0.02, 0.6, 2, "wood", 0.7),
    plants("leafy", 10, 0.4, 0.7, 0.02),
    hill(0.15, 0.02, 0.6, 2, "wood", 0.5),
    plants("leafy", 8, 0.48, 0.5, 0.02),
    hill(0.26, 0.02, 0.6, 2, "wood", 0.3),
    plants("leafy", 6, 0.56, 0.32, 0.02),
    hill(0.42, 0.03, 0.6, 2, "near", 0.12),
    plants("grass", 60, 0.04, 0.1),
    subject("ground", 0.46),
    prop("trunks", 0.8),
    plants("grass", 22, 0.11, 0, 1.05),
  ],
  meadow: [
    SKY,
    hill(0, 0.06, 0.65, 1, "near", 0.5),
    plants("leafy", 7, 0.11, 0.5),
    hill(0.2, 0.05, 0.65, 1, "near", 0.3),
    plants("leafy", 6, 0.13, 0.3),
    hill(0.42, 0.04, 0.65, 1, "near", 0.1),
    plants("grass", 60, 0.035, 0.1),
    subject("ground", 0.5),
    plants("flower", 24, 0.05, 0.12, 0.14),
    plants("flower", 20, 0.08, 0.1, 0.32),
    plants("flower", 15, 0.13, 0.06, 0.6),
    plants("flower", 11, 0.2, 0.03, 0.9),
    plants("flower", 9, 0.25, 0, 1.15),
  ],
  desert: [
    SKY,
    hill(0.02, 0.07, 0.5, 3, "rock", 0.55),
    hill(0.08, 0.07, 0.7, 1, "sand", 0.5),
    hill(0.18, 0.09, 0.7, 1, "sand", 0.34),
    hill(0.38, 0.12, 0.7, 1, "sand", 0.2),
    subject("ground", 0.44),
    hill(0.66, 0.15, 0.7, 1, "sand", 0.05),
    plants("cactus", 2.6, 0.18, 0, 0.06),
  ],
  space: [{ kind: "nebula" }, subject("ground", 0.42, 0.72), subject("water", 0.42, 0.72)],
  studio: [prop("wall", 0.6), subject("ground", 1, 1)],
  table: [prop("alcove", 0.4), prop("table", 0.1), subject("ground", 0.56, 0.55)],
  forms: [{ kind: "forms" }, subject("ground", 0.5, 0.3), subject("water", 0.5, 0.3)],
  sheets: [
    SKY,
    hill(-0.55, 0.2, 0.4, 1, "paper", 0),
    hill(-0.3, 0.2, 0.35, 1, "paper", 0),
    hill(-0.05, 0.2, 0.45, 1, "paper", 0),
    hill(0.2, 0.18, 0.35, 1, "paper", 0),
    hill(0.45, 0.18, 0.4, 1, "paper", 0),
    hill(0.7, 0.16, 0.4, 1, "paper", 0),
    hill(0.92, 0.14, 0.45, 1, "paper", 0),
  ],
} satisfies Record<string, readonly Part[]>;

export type SettingName = keyof typeof SETTINGS;
