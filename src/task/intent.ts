import { isDeepStrictEqual } from "node:util";
import type { GenerationRequest } from "./request.ts";
import type { ProviderFields, RepeatedSeed } from "./request-fields.ts";

export interface ServiceIdentity {
  baseUrl: string;
  /** Fingerprint of the API key; the key itself is never recorded. */
  keyId: string;
}

/** Service name for tasks of the embedded sandbox, whose address changes at each start. */
export const SANDBOX_SERVICE = "sandbox";

/**
 * Key fingerprint for tasks at a generator without a key, and the account for the daily spending of all generators.
 * It is the fingerprint of the text "generator", which is no key.
 */
export const GENERATOR_KEY_ID = "b0c63f2a34c7b97f";

/** A request about to be submitted, with everything that another process needs to finish it. */
export interface Intent {
  request: GenerationRequest;
  service: ServiceIdentity;
  /** Documented cost of all requests; null if there is no price. */
  credits: number | null;
  destination: Destination;
  /**
   * imggen's own id, created before the submit; null if the provider's id is the task's, as for the hosted service.
   */
  taskId: string | null;
  isPaid: boolean;
  /** Number of requests for its images. */
  requests: number;
  /** Timeout of one request, from its submit to its image, in milliseconds. */
  requestMs: number;
  options: JobOptions;
  /** The server (`imggen serve`) that accepted it and works on it while it lives. */
  server?: string;
  /**
   * The seed that rerun adds to reproduce the image. Not part of the request: it matches the same request without it.
   */
  repeatedSeed?: RepeatedSeed;
  /** The client's call at the server that waits for it; without a waiting client it may not be sent. */
  call?: string;
}

/**
 * The part of an intent that its provider decides. A process that continues the task uses this, never its own
 * settings.
 */
export type IntentTerms = Pick<Intent, "taskId" | "isPaid" | "requests" | "requestMs" | "options">;

/**
 * Everything beside the request that affects a task's images. Tasks that differ in it do not answer for each other.
 */
export interface JobOptions {
  /** The provider's name of the model; null: its default. */
  model: string | null;
  /** Requested pixels; the image may have another size. */
  width: number;
  height: number;
  /** Form of a size in the request; null: the usual one of the provider. */
  sizeForm: SizeForm | null;
  /** The user's fields, under the provider's names: `steps`, `seed`, `negative_prompt`. */
  fields: ProviderFields;
  /** The field with the seed, incremented for each further request of the task. Absent: none. */
  seedField?: string;
  /** `name@version` of the package that sent the request, if any. */
  package?: string;
  /** SHA-256 of the workflow, of which there is a private copy; absent: none. */
  workflow?: string;
}

export type SizeForm = "WxH" | "width,height" | "aspect_ratio";

/** The hosted service has no options. */
export const NO_OPTIONS: JobOptions = { model: null, width: 0, height: 0, sizeForm: null, fields: {} };

/** The reference client polls 60 times at an interval of 3 s (section 4.2); the largest images take longer. */
const REQUEST_MS = 180_000;
const REQUEST_4K_MS = 600_000;

export function serviceTerms({ quality }: Pick<GenerationRequest, "quality">): IntentTerms {
  return {
    taskId: null,
    isPaid: true,
    requests: 1,
    requestMs: quality === "4K" ? REQUEST_4K_MS : REQUEST_MS,
    options: NO_OPTIONS,
  };
}

/** Whether a task is at the user's own generator; the hosted service assigns its own ids. */
export function isAtGenerator({ taskId }: Pick<Intent, "taskId">): boolean {
  return taskId !== null;
}

/** The reason that a task costs no money; the sandbox's credits are play money. */
export type FreeAt = "sandbox" | "generator";

/** null: it may cost something. */
export function freeAt({ service, isPaid }: Pick<Intent, "service" | "isPaid">): FreeAt | null {
  if (service.baseUrl === SANDBOX_SERVICE) return "sandbox";
  return isPaid ? null : "generator";
}

/** The identity of a request and its account, for comparison. */
export type RequestIdentity = Pick<Intent, "request" | "service" | "server" | "options" | "taskId">;

/** A server's tasks belong to its clients alone. */
export function isSameRequest(a: RequestIdentity, b: RequestIdentity): boolean {
  const [one, other] = [a, b].map((each) => [
    identifyingFields(each),
    each.service,
    each.options,
    each.server,
  ]);
  return isDeepStrictEqual(one, other);
}

/** The request without generator-only fields, which are in the options; for the hosted service the whole request. */
export function identifyingFields({ request, taskId }: RequestIdentity): Partial<GenerationRequest> {
  if (taskId === null) return request;
  const { seed: _seed, negative: _negative, fields: _fields, ...rest } = request;
  return rest;
}

/** The destination of a task's images, decided before the submit. All paths are absolute. */
export type Destination = SaveOptions &
  (
    | /** Exactly this path; several images are numbered from it. Without an extension it gets the right one. */
    { kind: "file"; path: string }
    | { kind: "folder"; folder: string; template: string }
    /** The first image to standard output; further and recovered images to the folder. */
    | { kind: "stdout"; folder: string; template: string }
  );

/** Whether images go to the same files. Earlier output to standard output is gone. */
export function isSameDestination(a: Destination, b: Destination): boolean {
  return a.kind !== "stdout" && isDeepStrictEqual(a, b);
}

/** The destination of a continued task: the original command's standard output is gone. */
export function recoveryDestination(destination: Destination): Destination {
  return destination.kind === "stdout" ? { ...destination, kind: "folder" } : destination;
}

export interface SaveOptions {
  /** Whether existing files are replaced. */
  overwrite: boolean;
  /** Whether each image gets a sidecar, `<image>.json`. */
  sidecar?: boolean;
}
