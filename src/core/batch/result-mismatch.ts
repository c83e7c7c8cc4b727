import { ratioShape } from "../../models/ratio.ts";
import type { TaskReport } from "../task/report.ts";

/** Pixels come in whole blocks, so a picture is never quite of its ratio. In natural logarithms: about 5 %. */
const TOLERANCE = 0.05;

/** Where what came is not what was asked for: another shape, or another number of images. */
export function mismatchWarnings({ request, files }: Pick<TaskReport, "request" | "files">): string[] {
  if (request === null || files.length === 0) return [];
  const { ratio, maxImages } = request;
  const warnings: string[] = [];
  if (maxImages !== undefined && maxImages !== files.length)
    warnings.push(
      `requested ${maxImages} ${maxImages === 1 ? "image" : "images"}, received ${files.length}.`,
    );
  const asked = ratio === undefined ? null : ratioShape(ratio);
  for (const { width, height } of asked === null ? [] : files) {
    if (Math.abs(Math.log(width / height) - (asked ?? 0)) > TOLERANCE)
      warnings.push(`requested ${ratio}, received ${width}×${height}.`);
  }
  return warnings;
}
