import { isJsonObject } from "../../lib/json.ts";
import type { Usage } from "../../task/lifecycle.ts";
import { LINK_SECONDS, resultUrl } from "../links.ts";
import type { QueuedTask } from "../queue/task-folder.ts";
import type { EndedState, StoredImage } from "../queue/task-state.ts";
import { FAILURE_CODE, type SandboxReply, success } from "../reply.ts";
import type { GeneratorService } from "./service.ts";

type LinkFacts = Pick<GeneratorService, "secret" | "clock"> & { origin: string };

/** What a poll says of a task that has ended. */
export function endedReply(task: QueuedTask, state: EndedState, service: LinkFacts): SandboxReply {
  const { taskId } = task;
  const note = `${taskId} ${state.name}`;
  if (state.name === "failed") {
    const { outcome, detail } = state.failure;
    return success({ taskId, status: "failed", errorCode: FAILURE_CODE, outcome, detail }, note);
  }
  const usage = addUsage(state.images.map((image) => image.usage).filter((each) => each !== null));
  const detail = remarksOn(task, state);
  const expires = Math.ceil(service.clock.now() / 1000) + LINK_SECONDS;
  const extensions = state.images.map(({ extension }) => extension);
  return success(
    {
      taskId,
      status: "completed",
      resultUrl: resultUrl(service, { taskId, expires }, extensions),
      errorCode: 0,
      ...(usage !== null && { usage }),
      ...(detail !== "" && { detail }),
    },
    note,
  );
}

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

/** What several images took together: numbers are added up, and what is no number is kept from the first that has it. */
function addUsage(usages: readonly Usage[]): Usage | null {
  if (usages.length === 0) return null;
  return usages.reduce((sum, usage) => add(sum, usage));
}

function add(sum: Usage, usage: Usage): Usage {
  const names = new Set([...Object.keys(sum), ...Object.keys(usage)]);
  return Object.fromEntries([...names].map((name) => [name, addValue(sum[name], usage[name])]));
}

function addValue(a: unknown, b: unknown): unknown {
  if (typeof a === "number" && typeof b === "number") return a + b;
  if (isJsonObject(a) && isJsonObject(b)) return add(a, b);
  return a ?? b;
}
