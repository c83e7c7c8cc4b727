import type { ImageType } from "../lib/image/format.ts";
import { isJsonObject } from "../lib/json.ts";
import { areWireFields, type InputFields, type RepeatedSeed, type WireFields } from "./request-fields.ts";

/**
 * The body of a submit, as on the wire (section 2.2 of the service's document). A field that the user did not set is
 * absent, so that the service's default applies.
 */
export interface GenerationRequest extends WireFields {
  prompt: string;
  model: string;
}

/** Whether a value is a request as on the wire. Unknown fields are ignored. */
export function isRequest(value: unknown): value is GenerationRequest {
  return isJsonObject(value) && "prompt" in value && "model" in value && areWireFields(value);
}

/** The user's unchecked input, with unresolved aliases. The default model is the service's, `vendor1/alpha-2`. */
export interface RequestInput extends InputFields {
  prompt: string;
}

export type GeneratorFields = Pick<InputFields, "seed" | "negative" | "fields">;

/** The generator-only fields as texts by name: seed, negative prompt, and further fields. */
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

/** Objects and lists as JSON. */
export function fieldText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A valid request, with its expected cost. */
export interface CheckedRequest {
  request: GenerationRequest;
  /** Documented cost in credits; null if it is not documented. */
  credits: number | null;
  /** Number of requests, each at the same price. Default: 1. */
  requests?: number;
  /** The seed that rerun adds, not part of the request. Absent: none. */
  repeatedSeed?: RepeatedSeed;
  /** Cost if an earlier attempt was paid, and no flag or setting declares it free. Default: `credits`. */
  creditsIfPaid?: number | null;
  /** Whether it is paid, in place of what the connection says: because an earlier attempt was, or as a server says. */
  isPaid?: boolean;
  warnings: string[];
}

/** The request to send, with the seed that rerun adds. */
export function withRepeatedSeed({ request, repeatedSeed }: CheckedRequest): GenerationRequest {
  return repeatedSeed === undefined ? request : { ...request, seed: repeatedSeed.first };
}

/** A request that replaces an earlier paid attempt; as a free one it would be sent again after a loss. */
export function replacingPaid(checked: CheckedRequest): CheckedRequest {
  const { creditsIfPaid } = checked;
  return creditsIfPaid === undefined ? checked : { ...checked, credits: creditsIfPaid, isPaid: true };
}

/** Model name for a generator with a single, unnamed model: no model is sent. */
export const ANY_MODEL = "default";

/** Supported types of reference images (section 2.2). */
export const REFERENCE_TYPES: readonly ImageType[] = ["jpeg", "png", "webp"];

/** "4 MB" in the document, in the more permissive reading. */
export const MAX_REFERENCE_BYTES = 4 * 1024 * 1024;
