import type { CollectedImages } from "./collected-images.ts";
import type { IdempotencyKeys } from "./idempotency-keys.ts";
import type { ModelList } from "./model-list.ts";
import type { Queue } from "./queue.ts";
import type { RunDeps } from "./run-task.ts";

/** What the parts of a server share. */
export interface Service extends RunDeps {
  queue: Queue;
  keys: IdempotencyKeys;
  modelList: ModelList;
  collected: CollectedImages;
  /** The only key that is accepted: no other local user, and no web page, has tasks run. */
  apiKey: string;
  /** Signs result URLs. */
  secret: string;
}
