import type { CheckedRow } from "../core/batch/batch-row.ts";
import { ImggenError, UsageError } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import { hasSeveralSeeds, parseSeedsOption } from "../lib/whole-number.ts";
import { fieldPairs, jsonFields } from "../models/provider-fields.ts";
import type { GenerationRequest, RequestInput } from "../task/request.ts";
import type { ClientSession } from "./client-session.ts";
import type { FlagsOf } from "./options/option.ts";
import type { GENERATE } from "./options/request-table.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

export interface SeedFlags {
  seeds: readonly WholeNumber[];
  field: string | undefined;
}

/** Reads `--seed 1-40` or `--field seed=1-40` (the generator's seed field). @throws UsageError if both are set */
export async function readSeedFlags(
  flag: readonly WholeNumber[] = [],
  session: ClientSession,
): Promise<SeedFlags> {
  const { settings } = session;
  const [fieldSetting, jsonSetting] = [settings.flag("field"), settings.flag("fieldJson")];
  if (flag.length < 2 && fieldSetting === undefined && jsonSetting === undefined)
    return { seeds: flag, field: undefined };
  const field = await seedField(session);
  const pairs = fieldSetting ? fieldPairs(fieldSetting.label, fieldSetting.value) : [];
  const seedTexts = pairs.filter(([name]) => name === field).map(([, text]) => text);
  const isInJson =
    jsonSetting &&
    field !== undefined &&
    Object.hasOwn(jsonFields(jsonSetting.label, jsonSetting.value), field);
  if (flag.length > 0 && (seedTexts.length > 0 || isInJson)) throw duplicateSeedError(field);
  const text = seedTexts.join(",");
  const seeds =
    fieldSetting && hasSeveralSeeds(text) ? parseSeedsOption(`${fieldSetting.label} ${field}`, text) : flag;
  return { seeds, field };
}

export function duplicateSeedError(field = "seed"): UsageError {
  return new UsageError(`--seed and --field ${field}= are two seeds for one request.`, {
    hint: "Nothing was sent. Leave one of them out.",
  });
}

/** Name of the generator's seed field, if any. A later check reports an unusable generator. */
async function seedField(session: ClientSession): Promise<string | undefined> {
  try {
    const target = await targetInEffect(session);
    return target.kind === "generator" ? target.generator.options.fieldNames.seed : undefined;
  } catch (error) {
    if (error instanceof ImggenError) return undefined;
    throw error;
  }
}

export const SEVERAL_SEEDS = {
  fileName: "{slug}-{seed}-{task}.{ext}",
  nameOf: ({ line, checked: { request } }: CheckedRow) => `line ${line} ${seedText(request)}`.trimEnd(),
};

export function seedText({ seed }: Pick<GenerationRequest, "seed">): string {
  return seed === undefined ? "" : `seed ${seed}`;
}

/** Refuses several images per request, because the seeds of requests would overlap. @throws UsageError */
export function requireOneImageEach({ maxImages = 1 }: Pick<RequestInput, "maxImages">): void {
  if (maxImages > 1)
    throw new UsageError("With several seeds each request makes one image.", {
      hint: "Nothing was sent. Leave --max-images out.",
    });
}

const OMIT_HINT = "Nothing was sent. Leave it out.";

type GenerateFlags = Omit<FlagsOf<typeof GENERATE>, "seed">;

/** @throws UsageError for a flag of single requests */
export function refuseSingleRequestFlags({ wait, reuse, checkImages }: GenerateFlags): void {
  const flag = firstFlag({ "--no-wait": !wait, "--reuse": reuse, "--check-images": checkImages });
  if (flag) throw new UsageError(`${flag} cannot be used with several seeds.`, { hint: OMIT_HINT });
}

/** @throws UsageError for a flag of batches */
export function refuseBatchFlags({ concurrency, retryFailed, resubmitUnknown }: GenerateFlags): void {
  const flag = firstFlag({
    "--concurrency": concurrency !== undefined,
    "--retry-failed": retryFailed,
    "--resubmit-unknown": resubmitUnknown,
  });
  if (flag)
    throw new UsageError(`${flag} can be used only with several seeds, such as --seed 1-4.`, {
      hint: OMIT_HINT,
    });
}

function firstFlag(flags: Readonly<Record<string, boolean | undefined>>): string | undefined {
  return Object.keys(flags).find((name) => flags[name]);
}
