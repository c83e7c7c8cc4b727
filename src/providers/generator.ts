import path from "node:path";
import type { HttpClientOptions } from "../api/client.ts";
import type { Proxies } from "../api/proxies.ts";
import type { Clock } from "../lib/clock.ts";
import type { Usage } from "../task/lifecycle.ts";

/** What one image is to be made from. */
export interface GeneratorJob {
  /** The task that it belongs to: sent as `X-Client-Request-Id` to a paid generator, so that a request can be looked up. */
  taskId: string;
  /** Which of the task's images, from 0. */
  index: number;
  /** The generator's own name of a model; null: whatever it has. */
  model: string | null;
  prompt: string;
  /** As the request had it: `16:9`, `auto`; undefined where it had none. */
  ratio: string | undefined;
  /** As the request had it, such as `2K`; undefined where it had none. */
  quality: string | undefined;
  /** In pixels. What a generator makes of them, its bytes say. */
  width: number;
  height: number;
  references: readonly Reference[];
  /** Extra fields that the user has set, handed on as they are: `steps`, `seed`, `negative_prompt`. */
  fields: Readonly<Record<string, string | number | boolean>>;
  /** A private folder of this image alone, where a reply is kept while it arrives. The queue makes and removes it. */
  folder: string;
}

/** A reference image: a private copy on this disk, or a URL. */
export type Reference = { file: string; mediaType: string } | { url: string };

/** Where the queue before a generator keeps those copies, named by what `file:` URLs in requests say. */
export function referencesFolder(folder: string): string {
  return path.join(folder, "references");
}

/** An image as the generator made it, in a file of the job's folder. What its bytes are, the queue finds out. */
export interface GeneratedImage {
  file: string;
  /** What the generator says of cost and tokens, as it says it; null where it says nothing. */
  usage: Usage | null;
}

/** What a job may do while it runs. */
export interface JobDeps {
  /** Gives the request up, as does the queue when `timeoutMs` has passed: the reply is not waited for any longer. */
  signal: AbortSignal;
  /** How far the image is, from 0 to 1, where the generator says that. */
  onProgress: (share: number) => void;
}

/** The reason of a job's signal where the queue gives the job up because its time is over. */
export class TimeLimitError extends Error {
  override readonly name = "TimeLimitError";
}

/** Makes images: a painter inside the program, a server, a command. One request for each image, never sent again by itself. */
export interface Generator {
  /** @throws GeneratorError; nothing else but the signal's reason */
  generate(job: GeneratorJob, deps: JobDeps): Promise<GeneratedImage>;
  /**
   * The image of a request whose process ended: the reply may have arrived to its last byte. Null if it has not.
   * @throws GeneratorError if it has, and says no
   */
  recover(job: GeneratorJob): Promise<GeneratedImage | null>;
  /** The names of its models; null where it cannot be asked. @throws GeneratorError */
  models(signal: AbortSignal): Promise<string[] | null>;
  close(): Promise<void>;
}

/** What a generator may need of the process that it runs in. */
export interface GeneratorDeps {
  env: Readonly<Record<string, string | undefined>>;
  proxies: Proxies | undefined;
  clock: Clock;
  /** Called for every HTTP exchange with a server, for `--verbose`. */
  onExchange?: HttpClientOptions["onExchange"];
}

/** What a failure means for the queue and for the task. */
export type GeneratorFailure =
  /** The request was certainly never sent: the task stays queued, and is tried again after a wait. */
  | { kind: "unreachable" }
  /** Key, credit or limit of the account: no other request would fare better until the user has fixed it. */
  | { kind: "account"; key: "login_required" | "my_credits.no_credits_description" }
  /** Nothing was made. The same task is sent again, not before this time has passed, in milliseconds. */
  | { kind: "busy"; retryAfterMs: number | null }
  /** The generator will not make this image, or has answered without one. */
  | { kind: "refused" }
  /** The request may have been paid for, and its image is gone. */
  | { kind: "lost" };

/** `message` is a sentence for the user, with the generator's own words in it where it said any. */
export class GeneratorError extends Error {
  override readonly name = "GeneratorError";
  readonly failure: GeneratorFailure;

  constructor(message: string, failure: GeneratorFailure, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}
