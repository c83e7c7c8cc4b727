import type { ImageType } from "../lib/image/format.ts";
import { isJsonObject } from "../lib/json.ts";
import { areWireFields, type InputFields, type RepeatedSeed, type WireFields } from "./request-fields.ts";

/** Body of a submit (section 2.2 of the service's document). The service's defaults apply to absent fields. */
export interface GenerationRequest extends WireFields {
  prompt: string;
  model: string;
}

/** Whether a value is a valid body of a submit. Unknown fields are ignored. */
export function isRequest(value: unknown): value is GenerationRequest {
  return isJsonObject(value) && "prompt" in value && "model" in value && areWireFields(value);
}

/** Input that is not checked yet. `model` can be an alias; default: the service's default model, `vendor1/alpha-2`. */
export interface RequestInput extends InputFields {
  prompt: string;
}

export type GeneratorFields = Pick<InputFields, "seed" | "negative" | "fields">;

export function generatorFieldTexts({
  seed,
  negative,
  fields,
}: GeneratorFields): Readonly<Record<string, string>> {
  const entries = Object.entries({ seed, negative, ...fields }).filter(([, value]) => value !== undefined);
  return fieldTexts(Object.fromEntries(entries));
}

export function fieldTexts(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fieldText(value)]));
}

export function fieldText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

export interface CheckedRequest {
  request: GenerationRequest;
  credits: number | null;
  /** Number of requests, each at the same price. Default: 1. */
  requests?: number;
  /** Seed that `rerun` adds. It is not part of the request. */
  repeatedSeed?: RepeatedSeed;
  /** Cost if an earlier attempt was paid and no flag or setting declares the generator free. Default: `credits`. */
  creditsIfPaid?: number | null;
  /** Overrides the connection's setting if an earlier attempt was paid, or if an `imggen serve` reports its price. */
  isPaid?: boolean;
  warnings: string[];
}

export function withRepeatedSeed({ request, repeatedSeed }: CheckedRequest): GenerationRequest {
  return repeatedSeed === undefined ? request : { ...request, seed: repeatedSeed.first };
}

/** Marks the replacement of a paid attempt as paid, because a free request is sent again after a lost reply. */
export function asPaidReplacement(checked: CheckedRequest): CheckedRequest {
  const { creditsIfPaid } = checked;
  return creditsIfPaid === undefined ? checked : { ...checked, credits: creditsIfPaid, isPaid: true };
}

/** Model name in requests to a generator that needs no model name. The name is not sent. */
export const ANY_MODEL = "default";

export const REFERENCE_TYPES: readonly ImageType[] = ["jpeg", "png", "webp"];

/** Limit of "4 MB" in section 2.2, read as MiB so that no valid file is refused. */
export const MAX_REFERENCE_BYTES = 4 * 1024 * 1024;
