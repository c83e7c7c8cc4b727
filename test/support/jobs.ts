import type { Job, SubmitHow } from "../../src/providers/provider.ts";
import type { GenerationRequest } from "../../src/task/request.ts";
import { WORK } from "./records.ts";

/** A submit that nobody gives up, and whose progress nobody follows. */
export const HOW: SubmitHow = {
  signal: new AbortController().signal,
  onSent: () => {},
  onProgress: () => {},
};

/** What one request is made from, where a test cares for the request alone. */
export function jobFor(request: GenerationRequest): Job {
  const { taskId, isPaid, options } = WORK;
  return { request, taskId: taskId ?? "", index: 0, isPaid, options, references: [], folder: "/nowhere" };
}
