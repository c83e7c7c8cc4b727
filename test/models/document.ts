import { words } from "../support/words.ts";

/**
 * The service's document, typed out again for the tests: what is derived from the program's own matrix
 * could only show that it agrees with itself. `null` is what the document does not say.
 */
export interface Documented {
  id: string;
  kinds: string[] | null;
  ratios: string | null;
  qualities: string | null;
  maxImages: number | null;
  promptLimit: number;
  /** Least and most reference images. */
  references: [number, number | null] | null;
}

const EIGHT = "1:1 4:3 3:4 16:9 9:16 3:2 2:3 21:9";
const GAMMA = "auto 1:1 3:2 2:3 4:3 3:4 5:4 4:5 16:9 9:16 2:1 1:2 3:1 1:3 21:9 9:21";
const ALPHA_2 = "1:1 1:4 1:8 2:3 3:2 3:4 4:1 4:3 4:5 5:4 8:1 9:16 16:9 21:9 auto";
const TEXT = ["text-to-image"];
const EDIT = ["edit"];

type Row = [
  id: string,
  kinds: string[] | null,
  ratios: string | null,
  qualities: string | null,
  maxImages: number | null,
  promptLimit: number,
  references: [number, number | null] | null,
];

const ROWS: Row[] = [
  ["vendor1/alpha-pro", EDIT, EIGHT, "1K 2K 4K", 1, 1000, [1, null]],
  ["vendor1/alpha-2", null, ALPHA_2, "1K 2K 4K", 1, 10000, null],
  ["vendor2/beta-v4", null, EIGHT, "", 15, 1000, null],
  ["vendor2/beta-v4.5", null, EIGHT, "basic high", 1, 1000, null],
  ["beta/4.5-text-to-image", TEXT, EIGHT, "basic high", 1, 1000, [0, 0]],
  ["beta/4.5-edit", EDIT, EIGHT, "basic high", 1, 1000, [1, null]],
  ["beta/5-lite-text-to-image", TEXT, null, null, null, 1000, [0, 0]],
  ["beta/5-lite-image-to-image", EDIT, null, null, null, 1000, [1, null]],
  ["vendor2/beta-v5.0", null, EIGHT, "basic high", 1, 1000, null],
  ["gamma-image-2", ["text-to-image", "edit"], GAMMA, "1K 2K 4K", 1, 20000, [0, 16]],
  ["gamma-image-2-5-flare-text", TEXT, null, "1K 2K 4K", null, 20000, [0, 0]],
  ["gamma-image-2-5-flare-image", EDIT, null, "1K 2K 4K", null, 20000, [1, 16]],
  ["gamma-image-2-5-sunburst-text", TEXT, null, "1K 2K 4K", null, 20000, [0, 0]],
  ["delta-Image", EDIT, "1:1 3:2 2:3", "", 1, 1000, [1, null]],
  ["z-image", TEXT, "1:1 4:3 3:4 16:9 9:16", "", 1, 1000, [0, 0]],
  ["vendor1/alpha", TEXT, null, null, null, 1000, [0, 0]],
];

export const DOCUMENT: Documented[] = ROWS.map(
  ([id, kinds, ratios, qualities, maxImages, promptLimit, references]) => ({
    id,
    kinds,
    ratios,
    qualities,
    maxImages,
    promptLimit,
    references,
  }),
);

export const ALL_RATIOS = words(
  "1:1 1:4 1:8 2:3 3:2 3:4 4:1 4:3 4:5 5:4 8:1 9:16 16:9 21:9 auto 2:1 1:2 3:1 1:3 9:21 27:16 16:27 9:8 8:9",
);

export const ALL_QUALITIES = ["basic", "high", "1K", "2K", "4K"];

/** As many reference images as a model needs at the least. */
export function neededImages({ references }: Pick<Documented, "references">): string[] {
  return Array.from({ length: references?.[0] ?? 0 }, (_, index) => `https://images.test/${index}.png`);
}
