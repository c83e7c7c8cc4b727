import type { QueuedTask } from "../queue/task-folder.ts";
import type { EndedState, StoredImage } from "../queue/task-state.ts";

type Asked = Pick<QueuedTask, "ratio" | "quality" | "width" | "height">;
type Size = Pick<StoredImage, "width" | "height">;

/** Generators round sizes, some to steps of 64. */
const ROUNDED_PX = 64;

/** What of a completed task is not as it was asked for, in sentences; "" for nothing. */
export function remarksOn(
  task: Asked,
  { images, failures }: Extract<EndedState, { name: "completed" }>,
): string {
  const sizes = new Set(images.filter((image) => isOther(task, image)).map(sizeText));
  const remarks = [...sizes].map((size) => `Requested ${sizeText(task)} pixels, received ${size}.`);
  return [...failures.map(({ detail }) => detail), ...remarks].join(" ");
}

/** Any size will do where a request names neither a ratio nor a quality, or leaves the ratio to the generator. */
function isOther({ ratio, quality, width, height }: Asked, image: Size): boolean {
  if (ratio === "auto" || (ratio === undefined && quality === undefined)) return false;
  return Math.max(Math.abs(width - image.width), Math.abs(height - image.height)) > ROUNDED_PX;
}

function sizeText({ width, height }: Size): string {
  return `${width}×${height}`;
}
