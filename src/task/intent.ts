import { isDeepStrictEqual } from "node:util";
import type { GenerationRequest } from "./request.ts";
import type { Work } from "./work.ts";

/** The account that a task is charged to. */
export interface ServiceIdentity {
  baseUrl: string;
  /** Fingerprint of the API key; the key itself is never written down here. */
  keyId: string;
}

/** How tasks of the embedded sandbox name their service: its address changes at each start. */
export const SANDBOX_SERVICE = "sandbox";

/**
 * The key of tasks at the user's own generator, whose name is then their service: the fingerprint of the word
 * "generator", which is no key.
 */
export const GENERATOR_KEY_ID = "b0c63f2a34c7b97f";

/** What is about to be submitted, and everything that another process needs to finish it. */
export interface Intent {
  request: GenerationRequest;
  service: ServiceIdentity;
  /** Documented cost of all its requests; null if there is no price. */
  credits: number | null;
  destination: Destination;
  /** What a request to another provider than the hosted service is worth; absent at that service. */
  work?: Work;
  /** The name of the server (`imggen serve`) that accepted it, and that works on it while it lives; absent: none. */
  server?: string;
}

/** Whether a task may cost money, as every one of the hosted service may. */
export function isPaid({ work }: Pick<Intent, "work">): boolean {
  return work?.isPaid !== false;
}

/** Why a task costs no money, whatever credits it has: the sandbox's are play money. */
export type FreeAt = "sandbox" | "generator";

/** Where a task is free; null where it may cost something. */
export function freeAt({ service, work }: Pick<Intent, "service" | "work">): FreeAt | null {
  if (service.baseUrl === SANDBOX_SERVICE) return "sandbox";
  return work?.isPaid === false ? "generator" : null;
}

/** What identifies a request: two that agree in it ask for the same of the same account. */
export type RequestIdentity = Pick<Intent, "request" | "service" | "server"> & {
  work?: Pick<Work, "options"> | undefined;
};

/** Whether two intents are the same request to the same account. A server's tasks belong to its clients alone. */
export function isSameRequest(a: RequestIdentity, b: RequestIdentity): boolean {
  const [one, other] = [a, b].map((each) => [
    identifyingFields(each),
    each.service,
    each.work?.options,
    each.server,
  ]);
  return isDeepStrictEqual(one, other);
}

/** A request without its generator-only fields, which are in the options; for a service the whole request. */
export function identifyingFields({ request, work }: RequestIdentity): Partial<GenerationRequest> {
  if (work === undefined) return request;
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

/** How images are saved, wherever they go. */
export interface SaveOptions {
  /** Whether existing files are replaced. */
  overwrite: boolean;
  /** Whether each image gets a sidecar, `<image>.json`. */
  sidecar?: boolean;
}
