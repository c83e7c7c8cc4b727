import { isDeepStrictEqual } from "node:util";
import type { GenerationRequest } from "./request.ts";
import type { ProviderFields, RepeatedSeed } from "./request-fields.ts";

/** The account that a task is charged to. */
export interface ServiceIdentity {
  baseUrl: string;
  /** Fingerprint of the API key; the key itself is never written down here. */
  keyId: string;
}

/** How tasks of the embedded sandbox name their service: its address changes at each start. */
export const SANDBOX_SERVICE = "sandbox";

/**
 * In place of the fingerprint of a key: the identity of tasks at a generator without one, and the account of what all
 * generators spend together in a day. It is the fingerprint of the word "generator", which is no key.
 */
export const GENERATOR_KEY_ID = "b0c63f2a34c7b97f";

/** What is about to be submitted, and everything that another process needs to finish it. */
export interface Intent {
  request: GenerationRequest;
  service: ServiceIdentity;
  /** Documented cost of all its requests; null if there is no price. */
  credits: number | null;
  destination: Destination;
  /** Our id of the task, made before anything is sent; null if the provider's id is the task's, as at the hosted service. */
  taskId: string | null;
  isPaid: boolean;
  /** Number of requests that its images take. */
  requests: number;
  /** Time limit of one request, from its submit to its image, in milliseconds. */
  requestMs: number;
  options: JobOptions;
  /** The name of the server (`imggen serve`) that accepted it, and that works on it while it lives; absent: none. */
  server?: string;
  /**
   * The seed that rerun adds, so that it makes the same image: no part of the request, which answers for the same one without
   * it. Absent: none.
   */
  repeatedSeed?: RepeatedSeed;
  /** The record of the client's call that waits for it at the server: without a client it may not be sent. Absent: none. */
  call?: string;
}

/**
 * The part of an intent that its provider decides: what a task is worth, and what makes its images. Whoever continues it goes
 * by this, never by its own settings.
 */
export type IntentTerms = Pick<Intent, "taskId" | "isPaid" | "requests" | "requestMs" | "options">;

/** What makes a task's images beside the request itself. Of two tasks that differ in it, neither answers for the other. */
export interface JobOptions {
  /** The provider's own name of a model; null: whatever it has. */
  model: string | null;
  /** Pixels, as requested: the image itself says what the provider has made of them. */
  width: number;
  height: number;
  /** How a size is sent; null: as the provider's kind does. */
  sizeForm: SizeForm | null;
  /** Fields that the user has set, under the provider's names: `steps`, `seed`, `negative_prompt`. */
  fields: ProviderFields;
  /** The field that holds a seed: each further request of the task gets the next number. Absent: none. */
  seedField?: string;
  /** `name@version` of the package that sent the request, if one did. */
  package?: string;
  /** SHA-256 of the workflow that makes the images, of which there is a private copy; absent if none is used. */
  workflow?: string;
}

export type SizeForm = "WxH" | "width,height" | "aspect_ratio";

/** The options of a request to the hosted service, which takes none. */
export const NO_OPTIONS: JobOptions = { model: null, width: 0, height: 0, sizeForm: null, fields: {} };

/** The reference client polls 60 times, 3 s apart (section 4.2); the largest images take longer. */
const REQUEST_MS = 180_000;
const REQUEST_4K_MS = 600_000;

/** The terms of a request to the hosted service. */
export function serviceTerms({ quality }: Pick<GenerationRequest, "quality">): IntentTerms {
  return {
    taskId: null,
    isPaid: true,
    requests: 1,
    requestMs: quality === "4K" ? REQUEST_4K_MS : REQUEST_MS,
    options: NO_OPTIONS,
  };
}

/** Whether a task is at the user's own generator, whose name is then its service: the hosted service has ids of its own. */
export function isAtGenerator({ taskId }: Pick<Intent, "taskId">): boolean {
  return taskId !== null;
}

/** Why a task costs no money, whatever credits it has: the sandbox's are play money. */
export type FreeAt = "sandbox" | "generator";

/** Where a task is free; null if it may cost something. */
export function freeAt({ service, isPaid }: Pick<Intent, "service" | "isPaid">): FreeAt | null {
  if (service.baseUrl === SANDBOX_SERVICE) return "sandbox";
  return isPaid ? null : "generator";
}

/** What identifies a request: two that agree in it ask for the same of the same account. */
export type RequestIdentity = Pick<Intent, "request" | "service" | "server" | "options" | "taskId">;

/** Whether two intents are the same request to the same account. A server's tasks belong to its clients alone. */
export function isSameRequest(a: RequestIdentity, b: RequestIdentity): boolean {
  const [one, other] = [a, b].map((each) => [
    identifyingFields(each),
    each.service,
    each.options,
    each.server,
  ]);
  return isDeepStrictEqual(one, other);
}

/** A request without its generator-only fields, which are in the options; for the hosted service the whole request. */
export function identifyingFields({ request, taskId }: RequestIdentity): Partial<GenerationRequest> {
  if (taskId === null) return request;
  const { seed: _seed, negative: _negative, fields: _fields, ...rest } = request;
  return rest;
}

/** Where a task's images go, decided before it is submitted. All paths are absolute. */
export type Destination = SaveOptions &
  (
    | /** Exactly this path; several images are numbered from it. Without an extension it gets the right one. */
    { kind: "file"; path: string }
    | { kind: "folder"; folder: string; template: string }
    /** The first image to standard output; what else comes, and a recovery, goes to the folder. */
    | { kind: "stdout"; folder: string; template: string }
  );

/** Whether images go to the same files. What went to a standard output before is nowhere now. */
export function isSamePlace(a: Destination, b: Destination): boolean {
  return a.kind !== "stdout" && isDeepStrictEqual(a, b);
}

/** The destination of a task that is continued: the standard output of the original command is gone. */
export function recoveryDestination(destination: Destination): Destination {
  return destination.kind === "stdout" ? { ...destination, kind: "folder" } : destination;
}

/** How images are saved, wherever they go. */
export interface SaveOptions {
  /** Whether existing files are replaced. */
  overwrite: boolean;
  /** Whether each image gets a sidecar, `<image>.json`. */
  sidecar?: boolean;
}
