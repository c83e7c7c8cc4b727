import type { ImageInfo } from "../../lib/image/inspect.ts";
import type { ProcessIdentity } from "../../lib/processes.ts";
import type { Usage } from "../../task/lifecycle.ts";

/** An image as it lies in its task's folder. */
export interface StoredImage extends ImageInfo {
  /** Below the task's folder, with a forward slash. */
  file: string;
  bytes: number;
  /** What the generator says of cost and tokens; null where it says nothing. */
  usage: Usage | null;
}

/** `refused`: nothing was charged. `unknown`: the request may have been paid for, and its image is gone. */
export interface ImageFailure {
  outcome: "refused" | "unknown";
  detail: string;
}

/** One step of a task, on disk before anything follows from it. Images are made in their order, one at a time. */
export type Step =
  /** Written before the request is sent: from here on it counts as sent. Other machines respect it until `until`. */
  | { type: "started"; at: string; by: ProcessIdentity; until: string }
  /** Back to the queue. `isRetry`: the request may have reached the generator, which allows that twice for an image. */
  | { type: "requeued"; at: string; why: string; isRetry: boolean }
  | { type: "image"; at: string; image: StoredImage }
  | { type: "failed"; at: string; failure: ImageFailure };

type ImageResult = { image: StoredImage } | { failure: ImageFailure };

/** What is behind a task that is not at its end. Its next image has the index `results.length`. */
interface Progress {
  results: readonly ImageResult[];
  /** How often the next image's request was sent again although it may have reached the generator. */
  retries: number;
}

/** Where a task stands. The number of its steps is a part of that: the next one has the number `steps + 1`. */
export type TaskState = { steps: number } & (
  | ({ name: "queued" } & Progress)
  | ({ name: "started"; by: ProcessIdentity; untilMs: number } & Progress)
  /** At least one image was made. */
  | { name: "completed"; images: readonly StoredImage[]; failures: readonly ImageFailure[] }
  | { name: "failed"; failure: ImageFailure }
);

export type OpenState = Extract<TaskState, { name: "queued" | "started" }>;
export type StartedState = Extract<TaskState, { name: "started" }>;
export type EndedState = Exclude<TaskState, OpenState>;

export const SUBMITTED: OpenState = { name: "queued", steps: 0, results: [], retries: 0 };

export function isEnded(state: TaskState): state is EndedState {
  return state.name === "completed" || state.name === "failed";
}

/** Whether a request of a task has reached the generator, or may have. */
export function mayBeSent(state: TaskState): boolean {
  return isEnded(state) || state.name === "started" || state.results.length > 0 || state.retries > 0;
}

/** The state after a step. @throws Error if the step cannot follow: the record is damaged */
export function advance(state: TaskState, step: Step, imageCount: number): TaskState {
  if (isEnded(state) || (state.name === "queued") !== (step.type === "started")) {
    throw new Error(`a step "${step.type}" cannot follow where a task is ${state.name}`);
  }
  const { results, retries } = state;
  const steps = state.steps + 1;
  switch (step.type) {
    case "started":
      return { name: "started", steps, results, retries, by: step.by, untilMs: Date.parse(step.until) };
    case "requeued":
      return { name: "queued", steps, results, retries: retries + (step.isRetry ? 1 : 0) };
    case "image":
      return afterImage(steps, [...results, { image: step.image }], imageCount);
    case "failed":
      return afterImage(steps, [...results, { failure: step.failure }], imageCount);
  }
}

/** An error costs one image: a task goes on to its next, and completes with what was made. */
function afterImage(steps: number, results: readonly ImageResult[], imageCount: number): TaskState {
  if (results.length < imageCount) return { name: "queued", steps, results, retries: 0 };
  const images = results.flatMap((result) => ("image" in result ? [result.image] : []));
  const failures = results.flatMap((result) => ("failure" in result ? [result.failure] : []));
  if (images.length > 0) return { name: "completed", steps, images, failures };
  // One request of unknown fate makes the fate of the whole task unknown.
  const failure = failures.find(({ outcome }) => outcome === "unknown") ?? failures[0];
  if (failure === undefined) throw new Error("a task of no images");
  return { name: "failed", steps, failure };
}
