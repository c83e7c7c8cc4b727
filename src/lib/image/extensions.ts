import path from "node:path";
import type { ImageType } from "./format.ts";

/** The file name extensions of each image type, without the dot. New files get the first. */
export const EXTENSIONS = {
  png: ["png"],
  jpeg: ["jpg", "jpeg"],
  webp: ["webp"],
  gif: ["gif"],
  avif: ["avif"],
} as const satisfies Record<ImageType, readonly [string, ...string[]]>;

/** The image type that a file's name says; null for a name that says none. */
export function typeNamed(file: string): ImageType | null {
  const extension = path.extname(file).slice(1).toLowerCase();
  const types: readonly [string, readonly string[]][] = Object.entries(EXTENSIONS);
  return (types.find(([, each]) => each.includes(extension))?.[0] as ImageType | undefined) ?? null;
}

const ALL: readonly string[] = Object.values(EXTENSIONS).flat();

/** All extensions as alternatives of a regular expression. */
export const ANY_EXTENSION = ALL.join("|");

/** The longest extension, with the dot: a name without one must have room for it. */
export const LONGEST_EXTENSION = `.${ALL.reduce((longest, each) => (each.length > longest.length ? each : longest))}`;
