import { type ExactInteger, exactSeed } from "../../lib/exact-integer.ts";
import type { JsonValue } from "../../lib/json.ts";
import { pictureDimensions } from "../../models/dimensions.ts";
import type { Job } from "../provider.ts";
import { seedOf } from "../seed.ts";

/** What may go into a workflow. */
export type Value = JsonValue | ExactInteger;

/** What a job has for a workflow. */
export interface Wanted {
  /** For placeholders: everything that there is. */
  values: ReadonlyMap<string, Value>;
  /** What must find a place, by its name. */
  needed: ReadonlySet<string>;
  /** Names among these that may have no place: an upscaler has neither prompt nor seed. */
  optional: ReadonlySet<string>;
  /** What the user has set of one node's input: `3.steps`, `Title.steps`. */
  direct: readonly (readonly [string, Value])[];
}

/** Names that stand for a part of a job, beside the user's own fields. */
export const NAMES = ["prompt", "negative", "width", "height", "seed", "image", "model", "steps"] as const;

type JobParts = Pick<Job, "request" | "options"> & Partial<Pick<Job, "taskId" | "index">>;

/**
 * What a job has for a workflow.
 * @param images names of its reference images at the server
 */
export function wantedOf(job: JobParts, images: readonly string[]): Wanted {
  const { request, options } = job;
  const { seed, negative, negative_prompt: other, ...fields } = options.fields;
  const { width, height, model } = options;
  const plain = Object.entries(fields).filter(([name]) => !isDirect(name));
  const needed: [string, Value][] = [
    ["prompt", request.prompt],
    ["seed", exactSeed(seed ?? seedOf({ taskId: "", index: 0, ...job }))],
    ...named("negative", negative ?? other),
    ...named("model", model ?? undefined),
    ...images.map((image, at) => [imageName(at), image] as [string, Value]),
    ...plain,
  ];
  const size: [string, Value][] = [
    ["width", width],
    ["height", height],
  ];
  const asked = isSizeAsked(job) ? [...needed, ...size] : needed;
  return {
    // A negative prompt that is not there is empty.
    values: new Map([["negative", ""], ...size, ...needed]),
    needed: new Set(asked.map(([name]) => name)),
    // Without a reference image, a workflow that has no place for the prompt is a mistake.
    optional: new Set(images.length === 0 ? [] : seed === undefined ? ["prompt", "seed"] : ["prompt"]),
    direct: Object.entries(fields)
      .filter(([name]) => isDirect(name))
      .map(([name, value]) => [name, SEED_INPUT.test(name) ? exactSeed(value) : value] as const),
  };
}

/** A field that sets a seed of one node: `3.seed`, `Noise.noise_seed`. */
const SEED_INPUT = /\.(?:noise_)?seed$/;

function named(name: string, value: Value | undefined): [string, Value][] {
  return value === undefined ? [] : [[name, value]];
}

/** `image` of the first reference image, `image2` of the second. */
function imageName(at: number): string {
  return at === 0 ? "image" : `image${at + 1}`;
}

function isDirect(name: string): boolean {
  return name.includes(".");
}

/** Whether the user asks for a size: if not, that of the workflow itself stays. */
function isSizeAsked({ request: { ratio, quality }, options }: JobParts): boolean {
  if (ratio === "auto") return false;
  const usual = pictureDimensions(undefined, undefined);
  const isUsual = options.width === usual.width && options.height === usual.height;
  return ratio !== undefined || quality !== undefined || !isUsual;
}
