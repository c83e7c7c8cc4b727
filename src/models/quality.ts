import { QUALITIES, type Quality } from "./matrix.ts";

/** The service's own spelling of a quality given in any case, or `undefined` where it has no such value. */
export function canonicalQuality(value: string): Quality | undefined {
  return QUALITIES.find((quality) => quality.toLowerCase() === value.toLowerCase());
}
