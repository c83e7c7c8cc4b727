import { QUALITIES, type Quality } from "./matrix.ts";

/** The service's spelling of a quality given in any case, or `undefined` if there is no such quality. */
export function canonicalQuality(value: string): Quality | undefined {
  return QUALITIES.find((quality) => quality.toLowerCase() === value.toLowerCase());
}
