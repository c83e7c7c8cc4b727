import type { ImageType } from "../lib/image/format.ts";
import { isJsonObject } from "../lib/json.ts";
import { areSentFields, type GivenFields, type RepeatedSeed, type SentFields } from "./request-fields.ts";

/**
 * The body of a submit, field for field as it goes on the wire (section 2.2 of the service's document).
 * A field that the user did not set is absent, so that the service's own default applies.
 */
export interface GenerationRequest extends SentFields {
  prompt: string;
  model: string;
}

/** Whether a value is a request as it is sent. Fields that this release does not know are not judged. */
export function isRequest(value: unknown): value is GenerationRequest {
  return isJsonObject(value) && "prompt" in value && "model" in value && areSentFields(value);
}

/**
 * What the user asked for, before it is checked: values as given, aliases unresolved. Without a `model` it is for
 * the service's default one, `vendor1/alpha-2`.
 */
export interface RequestInput extends GivenFields {
  prompt: string;
}

/** The generator-only fields of a request. */
export type OwnFields = Pick<GivenFields, "seed" | "negative" | "fields">;

/** The generator-only fields of a request as texts by their names: seed, negative prompt, and further fields. */
export function ownSettings({ seed, negative, fields }: OwnFields): Readonly<Record<string, string>> {
  const given = Object.entries({ seed, negative, ...fields }).filter(([, value]) => value !== undefined);
  return fieldTexts(Object.fromEntries(given));
}

/** The values of fields as texts. */
export function fieldTexts(fields: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, fieldText(value)]));
}

/** The value of a field as a text: JSON of an object or a list. */
export function fieldText(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** A request that the service's document does not rule out, with what it will cost. */
export interface CheckedRequest {
  request: GenerationRequest;
  /** Documented cost in credits; `null` where the document gives none. */
  credits: number | null;
  /** How many requests it takes, each at the same price; absent: one. */
  requests?: number;
  /** The seed that rerun adds, which is no part of the request. Absent: none. */
  repeatedSeed?: RepeatedSeed;
  /** What it costs if an earlier attempt was paid, and no flag or setting says that it is free. Absent: the same. */
  creditsIfPaid?: number | null;
  /** Whether it is paid, in place of what the connection says: because an earlier attempt was, or as a server says. */
  isPaid?: boolean;
  warnings: string[];
}

/** A request as it is made, with the seed that rerun adds. */
export function asMade({ request, repeatedSeed }: CheckedRequest): GenerationRequest {
  return repeatedSeed === undefined ? request : { ...request, seed: repeatedSeed.first };
}

/** A request in place of an earlier attempt that was paid: a free one would be sent again after a loss. */
export function inPlaceOfPaid(checked: CheckedRequest): CheckedRequest {
  const { creditsIfPaid } = checked;
  return creditsIfPaid === undefined ? checked : { ...checked, credits: creditsIfPaid, isPaid: true };
}

/** The model of a request to the user's own generator that has but one, and no name for it: no model is sent. */
export const ANY_MODEL = "default";

/** What the service takes as a reference image (section 2.2). */
export const REFERENCE_TYPES: readonly ImageType[] = ["jpeg", "png", "webp"];

/** The document says "4 MB"; of its two readings, the one that refuses least. */
export const MAX_REFERENCE_BYTES = 4 * 1024 * 1024;
