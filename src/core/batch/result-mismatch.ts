import { ratioShape } from "../../models/ratio.ts";
import type { TaskReport } from "../task/report.ts";

/** Image sides are multiples of a block, so no image has its ratio exactly. A difference of natural logarithms: about 5 %. */
const TOLERANCE = 0.05;

/** Warnings where the result differs from the request: another aspect ratio, or another number of images. */
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
