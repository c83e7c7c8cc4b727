import type { QueueContext } from "../queue/context.ts";
import type { Queue } from "../queue/queue.ts";
import type { CollectedImages } from "./kept-files.ts";

/** What the handlers of a service with a generator share. */
export interface GeneratorService extends QueueContext {
  queue: Queue;
  /** The only key that is accepted: no other local user, and no web page, has tasks run. */
  apiKey: string;
  /** Signs result URLs. */
  secret: string;
  collected: CollectedImages;
}
