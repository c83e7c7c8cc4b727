import { isoTime } from "../../lib/clock.ts";
import { errorText } from "../../lib/error-text.ts";
import { GeneratorError, type GeneratorFailure, TimeLimitError } from "../../providers/generator.ts";
import { BadImageError } from "./check-image.ts";
import type { Step, StoredImage } from "./task-state.ts";

/** How a request to a generator ended. */
export type RequestEnd =
  | { kind: "image"; image: StoredImage }
  | { kind: "error"; failure: GeneratorFailure; detail: string }
  /** The generator says that it is an image, and it is none. */
  | { kind: "bad image"; detail: string }
  | { kind: "timed out"; detail: string }
  /** This process ends, and does not wait for it. */
  | { kind: "given up" }
  /** Its process ended before it did. */
  | { kind: "killed" }
  /** A bug, or the disk. */
  | { kind: "broken"; detail: string };

/** Why this queue gave a request up, other than for its time. */
export class GivenUpError extends Error {
  override readonly name = "GivenUpError";
}

/** How a request ended that threw. */
export function endOf(error: unknown): RequestEnd {
  if (error instanceof GeneratorError)
    return { kind: "error", failure: error.failure, detail: error.message };
  if (error instanceof BadImageError) return { kind: "bad image", detail: error.message };
  if (error instanceof TimeLimitError) return { kind: "timed out", detail: error.message };
  if (error instanceof GivenUpError) return { kind: "given up" };
  return { kind: "broken", detail: errorText(error) };
}

/** How often a request is sent again that may have reached a free generator. */
const MOST_RETRIES = 2;

type EndStep = Exclude<Step, { type: "started" }>;

interface Circumstances {
  isPaid: boolean;
  /** How often the image's request was sent again already. */
  retries: number;
  /** Milliseconds since the epoch. */
  nowMs: number;
}

/**
 * The step that follows the end of a request. A request that may have reached a generator is sent again only where that
 * costs nothing; of a paid one the fate is unknown then, and it counts as spent.
 */
export function stepAfter(end: RequestEnd, { isPaid, retries, nowMs }: Circumstances): EndStep {
  const at = isoTime(nowMs);
  const failed = (outcome: "refused" | "unknown", detail: string): EndStep => ({
    type: "failed",
    at,
    failure: { outcome, detail },
  });
  const unsent = (why: string): EndStep => ({ type: "requeued", at, why, isRetry: false });
  const lost = (why: string): EndStep => {
    if (isPaid) return failed("unknown", why);
    if (retries >= MOST_RETRIES) return failed("refused", why);
    return { type: "requeued", at, why, isRetry: true };
  };
  switch (end.kind) {
    case "image":
      return { type: "image", at, image: end.image };
    case "error":
      return end.failure.kind === "lost"
        ? lost(end.detail)
        : end.failure.kind === "refused"
          ? failed("refused", end.detail)
          : unsent(end.detail);
    case "bad image":
      return failed(isPaid ? "unknown" : "refused", `The generator made no usable image: ${end.detail}.`);
    case "timed out":
    case "broken":
      return lost(end.detail);
    case "given up":
      return isPaid
        ? failed("unknown", "The request was given up before its reply came.")
        : unsent("given up");
    case "killed":
      return lost("The process that had sent the request ended before the reply had come.");
  }
}
