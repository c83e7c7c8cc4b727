import type { SavedFile } from "../../task/saved-file.ts";
import type { Task } from "../../task/task.ts";

export function remarksOn({ intent }: Pick<Task, "intent">, files: readonly SavedFile[]): string[] {
  const { options, requests, request } = intent;
  const { width, height, sizeForm } = options;
  if (width === 0) return [];
  // Any size is valid if the request has neither a ratio nor a quality, or leaves the ratio to the provider.
  const isAnySize =
    request.ratio === "auto" || (request.ratio === undefined && request.quality === undefined);
  const wantedSize = `${width}×${height}`;
  // Files whose size is unknown (width 0) are ignored.
  const sizes = new Set(files.filter((file) => file.width > 0).map((file) => `${file.width}×${file.height}`));
  const otherSizes =
    isAnySize || sizeForm === "aspect_ratio" ? [] : [...sizes].filter((size) => size !== wantedSize);
  const remarks = otherSizes.map((size) => `Requested ${wantedSize} pixels, received ${size}.`);
  const wantedCount = requests === 1 ? "1 image" : `${requests} images`;
  if (files.length > requests) remarks.unshift(`Requested ${wantedCount}, received ${files.length}.`);
  const different = new Set(files.map(({ sha256 }) => sha256)).size;
  if (different < files.length)
    remarks.push(
      `${files.length - different + 1} of the ${files.length} images are identical: is the seed fixed?`,
    );
  return remarks;
}
