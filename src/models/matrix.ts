/** Kinds of models (section 2.4). */
export const KINDS = ["text-to-image", "edit"] as const;
export type Kind = (typeof KINDS)[number];

/** All values of the `quality` field (section 2.2). */
export const QUALITIES = ["basic", "high", "1K", "2K", "4K"] as const;
export type Quality = (typeof QUALITIES)[number];

/** Supported number of reference images. `max` is null if no upper limit is documented. */
export interface References {
  readonly min: number;
  readonly max: number | null;
  readonly httpsOnly: boolean;
}

/** A model as `imggen models --json` prints it. Null means undocumented; empty (`[]`, `max: 0`) means unsupported. */
export interface Model {
  readonly id: string;
  readonly kinds: readonly Kind[] | null;
  readonly ratios: readonly string[] | null;
  /** Ratio of a request without a ratio (section 2.2). */
  readonly defaultRatio: string;
  readonly qualities: readonly Quality[] | null;
  readonly defaultQuality: Quality | null;
  /** Maximum number of images of a request. */
  readonly maxImages: number | null;
  /** Maximum length of a prompt in characters (section 8), or null if only the generator knows it. */
  readonly promptLimit: number | null;
  readonly references: References | null;
  /** Price of a request in credits, by quality. `default` is the documented price of a request without a quality. */
  readonly credits: Readonly<Partial<Record<Quality | "default", number>>> | null;
  /** Whether section 2.4 lists the id among the allowed values. */
  readonly documented: boolean;
  readonly notes: readonly string[];
  /** Id of another model, if this id is only an alias of that model. An alias can be requested, but is not listed. */
  readonly aliasOf?: string;
}

export type Matrix = readonly Model[];

/** Default model of the service (section 2.2). */
export const DEFAULT_MODEL = "vendor1/alpha-2";

export const MAX_ID_LENGTH = 128;

/** Limits of `maxImages` for any model, and the default for models that make several images (section 2.2). */
export const MAX_IMAGES = { min: 1, max: 15, default: 4 } as const;

export const NEEDS_SUBSCRIPTION = "needs a Pro or Premium subscription";

/** All documented ratios (section 2.5). The document states that its list is incomplete. */
export const RATIOS: readonly string[] = (
  "1:1 1:4 1:8 2:3 3:2 3:4 4:1 4:3 4:5 5:4 8:1 9:16 16:9 21:9 auto " +
  "2:1 1:2 3:1 1:3 9:21 27:16 16:27 9:8 8:9"
).split(" ");

export type Columns = Partial<Omit<Model, "id" | "aliasOf">>;

const ratios = (list: string) => list.split(", ");
const EIGHT_RATIOS = ratios("1:1, 4:3, 3:4, 16:9, 9:16, 3:2, 2:3, 21:9");
const ALPHA_2_RATIOS = ratios(
  "1:1, 1:4, 1:8, 2:3, 3:2, 3:4, 4:1, 4:3, 4:5, 5:4, 8:1, 9:16, 16:9, 21:9, auto",
);
const GAMMA_RATIOS = ratios(
  "auto, 1:1, 3:2, 2:3, 4:3, 3:4, 5:4, 4:5, 16:9, 9:16, 2:1, 1:2, 3:1, 1:3, 21:9, 9:21",
);

/* Rows of the capability matrix (section 2.5). */
const ALPHA_2: Columns = { ratios: ALPHA_2_RATIOS, maxImages: 1, qualities: ["1K", "2K", "4K"] };
const ALPHA_PRO: Columns = { ratios: EIGHT_RATIOS, maxImages: 1, qualities: ["1K", "2K", "4K"] };
const BETA_V4: Columns = { ratios: EIGHT_RATIOS, maxImages: 15, qualities: [] };
const BETA_4_5_AND_5_0: Columns = { ratios: EIGHT_RATIOS, maxImages: 1, qualities: ["basic", "high"] };
const GAMMA_IMAGE_2: Columns = { ratios: GAMMA_RATIOS, maxImages: 1, qualities: ["1K", "2K", "4K"] };
const DELTA_IMAGE: Columns = { ratios: ratios("1:1, 3:2, 2:3"), maxImages: 1, qualities: [] };
const Z_IMAGE: Columns = { ratios: ratios("1:1, 4:3, 3:4, 16:9, 9:16"), maxImages: 1, qualities: [] };

/* Kinds of models. Section 2.4 has a list of models for each kind, so a model in only one list has only one kind. */
const TEXT_ONLY: Columns = { kinds: ["text-to-image"], references: { min: 0, max: 0, httpsOnly: false } };
const EDIT_ONLY: Columns = { kinds: ["edit"], references: { min: 1, max: null, httpsOnly: false } };
const TEXT_AND_EDIT: Columns = {
  kinds: ["text-to-image", "edit"],
  references: { min: 0, max: 16, httpsOnly: false },
};
const EDIT_OVER_HTTPS: Columns = { kinds: ["edit"], references: { min: 1, max: 16, httpsOnly: true } };

/* The gamma-image-2-5-* models have no row in the capability matrix. Sections 2.2 and 8 describe these models. */
const GAMMA_IMAGE_2_5: Columns = {
  qualities: ["1K", "2K", "4K"],
  defaultQuality: "1K",
  promptLimit: 20_000,
  credits: { "1K": 3, "2K": 5, "4K": 8, default: 3 },
  notes: [NEEDS_SUBSCRIPTION],
};

const DEFAULTS: Omit<Model, "id"> = {
  kinds: null,
  ratios: null,
  defaultRatio: "1:1",
  qualities: null,
  defaultQuality: null,
  maxImages: null,
  promptLimit: 1000,
  references: null,
  credits: null,
  documented: true,
  notes: [],
};

export function model(id: string, ...columns: readonly Columns[]): Model {
  const row: Model = { id, ...DEFAULTS };
  for (const part of columns) Object.assign(row, part);
  return row;
}

/** All models of the service's document, in the document's order. The last model is not in the document's list. */
export const MODELS: Matrix = [
  model("vendor1/alpha-pro", ALPHA_PRO, EDIT_ONLY),
  model("vendor1/alpha-2", ALPHA_2, { promptLimit: 10_000, notes: ["the service's default model"] }),
  model("vendor2/beta-v4", BETA_V4, { notes: ["makes 4 images by default"] }),
  model("vendor2/beta-v4.5", BETA_4_5_AND_5_0),
  model("beta/4.5-text-to-image", BETA_4_5_AND_5_0, TEXT_ONLY),
  model("beta/4.5-edit", BETA_4_5_AND_5_0, EDIT_ONLY),
  model("beta/5-lite-text-to-image", TEXT_ONLY),
  model("beta/5-lite-image-to-image", EDIT_ONLY),
  model("vendor2/beta-v5.0", BETA_4_5_AND_5_0),
  model("gamma-image-2", GAMMA_IMAGE_2, TEXT_AND_EDIT, {
    defaultRatio: "auto",
    promptLimit: 20_000,
    credits: { "1K": 2, "2K": 4, "4K": 8 },
    notes: ["the price without a quality is not documented"],
  }),
  model("gamma-image-2-5-flare-text", GAMMA_IMAGE_2_5, TEXT_ONLY),
  model("gamma-image-2-5-flare-image", GAMMA_IMAGE_2_5, EDIT_OVER_HTTPS, {
    notes: [NEEDS_SUBSCRIPTION, "reference images cost nothing extra"],
  }),
  model("gamma-image-2-5-sunburst-text", GAMMA_IMAGE_2_5, TEXT_ONLY),
  model("delta-Image", DELTA_IMAGE, EDIT_ONLY, {
    credits: { default: 2 },
    notes: ["one price for any request"],
  }),
  model("z-image", Z_IMAGE, TEXT_ONLY, { notes: ["always one image"] }),
  model("vendor1/alpha", TEXT_ONLY, {
    documented: false,
    notes: ["named in the service's document, but not in its list of models"],
  }),
];

/** Models that ignore `maxImages` (section 2.4). The matrix has no column for this fact. */
export const IGNORES_MAX_IMAGES: ReadonlySet<string> = new Set(["z-image"]);

/** Returns the service's spelling of a quality in any letter case, or `undefined` for other texts. */
export function canonicalQuality(value: string): Quality | undefined {
  return QUALITIES.find((quality) => quality.toLowerCase() === value.toLowerCase());
}
