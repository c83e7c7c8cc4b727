import { ExactInteger, nextSeed, parseSeed, type WholeNumber } from "../lib/exact-integer.ts";
import { hashToNumber } from "../lib/fingerprint.ts";
import { pngText } from "../lib/image/png-text.ts";
import type { Seeds } from "../task/line.ts";
import type { Job } from "./provider.ts";

/** Returns null if the field is absent or not a seed, such as -1 for a random seed. */
export function requestedSeed(
  { options: { fields } }: Pick<Job, "options">,
  field = "seed",
): WholeNumber | null {
  return Object.hasOwn(fields, field) ? parseSeed(fields[field]) : null;
}

/** The seed is the same after a crash. A task's seeds are consecutive, so that the first one reproduces all images. */
export function chosenSeed({ taskId, index }: Pick<Job, "taskId" | "index">): WholeNumber {
  return nextSeed(hashToNumber(`${taskId}:0`), index) ?? 0;
}

const MAX_SEEDS = 16;

/** Parses one seed for all images, or one per image. Returns null if no value is a seed. */
export function parseReportedSeeds(json: unknown): Seeds | null {
  const seeds = [json]
    .flat()
    .slice(0, MAX_SEEDS)
    .map((seed) => parseSeed(seed instanceof ExactInteger ? seed.digits : seed));
  return seeds.some((seed) => seed !== null) ? seeds : null;
}

const MAX_TEXT_BYTES = 256 * 1024;
/** Matches the settings. The last match is used, because the prompt before the settings can contain a similar line. */
const PNG_SETTINGS_LINE = /^Steps: .*$/gm;

/** Returns the seed in a PNG's text `parameters`, which AUTOMATIC1111 and stable-diffusion.cpp write, or null. */
export function readPngSeed(bytes: Buffer): WholeNumber | null {
  const settings = pngText(bytes, "parameters", MAX_TEXT_BYTES)?.match(PNG_SETTINGS_LINE)?.at(-1) ?? "";
  return parseSeed(/(?:^|, )Seed: (\d{1,20})(?:,|$)/.exec(settings)?.[1]);
}

/** Matches a line about the seed in a model's log: `Using seed: 7`, `Random seed set to: 7`. */
const SEED_LOG_LINE =
  /^\W*(?:(?:using|chosen|picked|random|global|the)\s+){0,3}seed(?:\s+(?:is|set to|used))?\s*[:=]?\s*(\d{1,20})\W*$/gim;

/** Returns null if the log contains no seed or several seeds. */
export function readLogSeed(log: unknown): WholeNumber | null {
  if (typeof log !== "string") return null;
  const loggedSeeds = new Set([...log.matchAll(SEED_LOG_LINE)].map(([, digits]) => parseSeed(digits)));
  const [seed = null, ...otherSeeds] = loggedSeeds;
  return otherSeeds.length === 0 ? seed : null;
}
