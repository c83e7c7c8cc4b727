import { inspectFile } from "../lib/image/inspect.ts";
import type { JobOptions } from "../task/intent.ts";
import type { GenerationRequest } from "../task/request.ts";
import { dimensionsLike } from "./dimensions.ts";

export type Size = { width: number; height: number } | null;

/** Returns null if unknown. Without a ratio, the image gets the shape of the first reference image. */
export function requestedSize(
  { request: { ratio = "auto" }, options: { width, height }, references }: SizedJob,
  file = referenceFile(references[0]),
): Size {
  if (references.length === 0 || ratio !== "auto") return { width, height };
  const referenceSize = file === "" ? null : imageSize(file);
  return referenceSize && dimensionsLike(referenceSize, Math.max(width, height));
}

interface SizedJob {
  request: Pick<GenerationRequest, "ratio">;
  options: Pick<JobOptions, "width" | "height">;
  references: readonly ({ file: string } | { url: string })[];
}

function referenceFile(reference: SizedJob["references"][number] | undefined): string {
  return reference !== undefined && "file" in reference ? reference.file : "";
}

/** Returns the display size of an image; null if the image cannot be read. The submit reports such an image later. */
function imageSize(file: string): Size {
  try {
    const inspection = inspectFile(file);
    if (!inspection.ok) return null;
    const { width, height } = inspection.image;
    return width > 0 && height > 0 ? { width, height } : null;
  } catch {
    return null;
  }
}
