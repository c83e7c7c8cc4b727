import { isDeepStrictEqual } from "node:util";
import type { GenerationRequest } from "./request.ts";
import type { ProviderFields, RepeatedSeed } from "./request-fields.ts";

export interface ServiceIdentity {
  baseUrl: string;
  /** Fingerprint of the API key, because the key itself is never recorded. */
  keyId: string;
}

/** Replaces the base URL in tasks of the embedded sandbox, because the sandbox has a new address after each start. */
export const SANDBOX_SERVICE = "sandbox";

/** Fingerprint of "generator", for generators without an API key and for the daily spending of all generators. */
export const GENERATOR_KEY_ID = "b0c63f2a34c7b97f";

export interface Intent {
  request: GenerationRequest;
  service: ServiceIdentity;
  /** Documented cost of all requests together, in credits, or null if undocumented. */
  credits: number | null;
  destination: Destination;
  /** Id that imggen creates before the submit, or null if the provider assigns the id, as the hosted service does. */
  taskId: string | null;
  isPaid: boolean;
  requests: number;
  /** Timeout of one request, from its submit to its image, in milliseconds. */
  requestMs: number;
  options: JobOptions;
  /** Id of the `imggen serve` process that accepted the request, and that works on the task until the process exits. */
  server?: string;
  /** Seed that `rerun` adds. The seed is not part of the request, so an equal request without a seed is a duplicate. */
  repeatedSeed?: RepeatedSeed;
  /** Id of the client's call at the server. If the client stops waiting for the call, the request must not be sent. */
  call?: string;
}

/** Facts that the provider decides. A process that continues the task uses these facts, not the current settings. */
export type IntentTerms = Pick<Intent, "taskId" | "isPaid" | "requests" | "requestMs" | "options">;

/** Options that affect a task's images in addition to the request. Tasks with different options are not duplicates. */
export interface JobOptions {
  /** The provider's name for the model, or null for the provider's default model. */
  model: string | null;
  /** Requested width in pixels. The image can have another size. */
  width: number;
  height: number;
  /** Format of the size in the request, or null for the provider's default format. */
  sizeForm: SizeForm | null;
  /** Fields set by the user, under the provider's names: `steps`, `seed`, `negative_prompt`. */
  fields: ProviderFields;
  /** Name of the seed field, whose value increments with each further request of the task. */
  seedField?: string;
  /** `name@version` of the provider package that sent the request. */
  package?: string;
  /** SHA-256 of the ComfyUI workflow, which is stored as a private copy. */
  workflow?: string;
}

export type SizeForm = "WxH" | "width,height" | "aspect_ratio";

export const NO_OPTIONS: JobOptions = { model: null, width: 0, height: 0, sizeForm: null, fields: {} };

/** Timeout of the service's reference client: 60 polls at an interval of 3 s (section 4.2). */
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

/** Whether a task is at a generator. A task at the service has no id from imggen, because the service assigns ids. */
export function isAtGenerator({ taskId }: Pick<Intent, "taskId">): boolean {
  return taskId !== null;
}

export type FreeProvider = "sandbox" | "generator";

/** @returns the provider at which the task is free, or null if the task can cost money */
export function getFreeProvider({
  service,
  isPaid,
}: Pick<Intent, "service" | "isPaid">): FreeProvider | null {
  if (service.baseUrl === SANDBOX_SERVICE) return "sandbox";
  return isPaid ? null : "generator";
}

export type RequestIdentity = Pick<Intent, "request" | "service" | "server" | "options" | "taskId">;

/** Compares the servers too, because a task at an `imggen serve` is only for the clients of this server. */
export function isSameRequest(a: RequestIdentity, b: RequestIdentity): boolean {
  const [first, second] = [a, b].map((each) => [
    identifyingFields(each),
    each.service,
    each.options,
    each.server,
  ]);
  return isDeepStrictEqual(first, second);
}

/** Omits generator-only fields, because the task's options contain them. The hosted service has no such options. */
export function identifyingFields({ request, taskId }: RequestIdentity): Partial<GenerationRequest> {
  if (taskId === null) return request;
  const { seed: _seed, negative: _negative, fields: _fields, ...rest } = request;
  return rest;
}

/** Destination of a task's images, which is decided before the submit. All paths are absolute. */
export type Destination = SaveOptions &
  (
    | /** Path of the image. If there are several images, they get numbers. A missing extension is added. */
    { kind: "file"; path: string }
    | { kind: "folder"; folder: string; template: string }
    /** Writes the first image to standard output, and further or recovered images to the folder. */
    | { kind: "stdout"; folder: string; template: string }
  );

/** Whether images go to the same files. False for standard output, because each command has its own output. */
export function isSameDestination(a: Destination, b: Destination): boolean {
  return a.kind !== "stdout" && isDeepStrictEqual(a, b);
}

/** Replaces standard output with the folder, because the standard output of the original command no longer exists. */
export function recoveryDestination(destination: Destination): Destination {
  return destination.kind === "stdout" ? { ...destination, kind: "folder" } : destination;
}

export interface SaveOptions {
  overwrite: boolean;
  sidecar?: boolean;
}
