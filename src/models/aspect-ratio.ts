import { greatestCommonDivisor } from "../lib/whole-number.ts";
import { type Matrix, RATIOS } from "./matrix.ts";

const WELL_FORMED = /^[1-9]\d*:[1-9]\d*$/;
const TWO_NUMBERS = /^0*([1-9]\d{0,9})\s*[:x×*/,_-]\s*0*([1-9]\d{0,9})$/;

export function isWellFormedRatio(value: string): boolean {
  return value === "auto" || WELL_FORMED.test(value);
}

export function isKnownRatio(value: string, matrix: Matrix): boolean {
  return RATIOS.includes(value) || matrix.some(({ ratios }) => ratios?.includes(value));
}

/** Corrects `16x9`, `1920:1080` or `AUTO` to a ratio of the service, or else to `<width>:<height>`. */
export function intendedRatio(value: string): string | undefined {
  const text = value.trim().toLowerCase();
  if (text === "auto") return text;
  const [, width, height] = TWO_NUMBERS.exec(text) ?? [];
  if (width === undefined || height === undefined) return undefined;
  const lowestTermsText = lowestTerms(Number(width), Number(height));
  // Compares shapes, because the service writes 7:3 as 21:9.
  return (
    RATIOS.find((ratio) => WELL_FORMED.test(ratio) && isSameShape(ratio, lowestTermsText)) ??
    `${width}:${height}`
  );
}

function lowestTerms(width: number, height: number): string {
  const divisor = greatestCommonDivisor(width, height);
  return `${width / divisor}:${height / divisor}`;
}

function isSameShape(ratio: string, lowest: string): boolean {
  const [width = Number.NaN, height = Number.NaN] = ratio.split(":").map(Number);
  return lowestTerms(width, height) === lowest;
}

/** Returns the ratio in the list that has the most similar shape, or `undefined` for `auto`. */
export function nearestRatio(value: string, list: readonly string[]): string | undefined {
  const shape = ratioShape(value);
  if (shape === null) return undefined;
  const distance = (ratio: string) => Math.abs((ratioShape(ratio) ?? Number.POSITIVE_INFINITY) - shape);
  return [...list].sort((a, b) => distance(a) - distance(b))[0];
}

/** Logarithm of width over height, so that 2:1 is as far from 1:1 as 1:2 is. Returns `null` for `auto`. */
export function ratioShape(ratio: string): number | null {
  const [width, height] = ratio.split(":").map(Number);
  return width === undefined || height === undefined ? null : Math.log(width / height);
}
