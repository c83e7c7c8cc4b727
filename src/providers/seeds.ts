import { ExactInteger, nextSeed, parseSeed, type WholeNumber } from "../lib/exact-integer.ts";
import { hashToNumber } from "../lib/fingerprint.ts";
import { pngText } from "../lib/image/png-text.ts";
import type { Seeds } from "../task/line.ts";
import type { Job } from "./provider.ts";

// The seed of an image: given by the user, chosen here, or reported by the server.

/** The seed that a job's fields name, if it is one: a server may take -1 for a random one. */
export function givenSeed({ options: { fields } }: Pick<Job, "options">, field = "seed"): WholeNumber | null {
  return Object.hasOwn(fields, field) ? parseSeed(fields[field]) : null;
}

/**
 * The seed of a job that names none, for a provider that needs one: the same after a crash. Those of one task follow each
 * other, so that one number makes all of its images again.
 */
export function chosenSeed({ taskId, index }: Pick<Job, "taskId" | "index">): WholeNumber {
  return nextSeed(hashToNumber(`${taskId}:0`), index) ?? 0;
}

/** No request makes more images that are saved. */
const MAX_SEEDS = 16;

/** Seeds in a reply: of all images, or one for each. Null if none is one. */
export function reportedSeeds(json: unknown): Seeds | null {
  const seeds = [json]
    .flat()
    .slice(0, MAX_SEEDS)
    .map((each) => parseSeed(each instanceof ExactInteger ? each.digits : each));
  return seeds.some((each) => each !== null) ? seeds : null;
}

const MAX_TEXT_BYTES = 256 * 1024;
/** The prompt stands before this line, and may hold anything. */
const PNG_SETTINGS = /^Steps: .*$/gm;

/** The seed in a PNG's text `parameters`, as AUTOMATIC1111 and stable-diffusion.cpp write it; null if there is none. */
export function seedInPng(bytes: Buffer): WholeNumber | null {
  const settings = pngText(bytes, "parameters", MAX_TEXT_BYTES)?.match(PNG_SETTINGS)?.at(-1) ?? "";
  return parseSeed(/(?:^|, )Seed: (\d{1,20})(?:,|$)/.exec(settings)?.[1]);
}

/** A line of a model's log about its seed: `Using seed: 7`, `Random seed set to: 7`. */
const LOG_LINE =
  /^\W*(?:(?:using|chosen|picked|random|global|the)\s+){0,3}seed(?:\s+(?:is|set to|used))?\s*[:=]?\s*(\d{1,20})\W*$/gim;

/** The seed in a model's log; null if none is named, or more than one. */
export function seedInLog(log: unknown): WholeNumber | null {
  if (typeof log !== "string") return null;
  const loggedSeeds = new Set([...log.matchAll(LOG_LINE)].map(([, digits]) => parseSeed(digits)));
  const [seed = null, ...others] = loggedSeeds;
  return others.length === 0 ? seed : null;
}
