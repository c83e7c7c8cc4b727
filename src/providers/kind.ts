import type { Matrix } from "../models/matrix.ts";
import type { FieldNames } from "../task/request-fields.ts";
import type { ProviderDeps } from "./deps.ts";
import { bearer, type KeyHeaders } from "./key-headers.ts";
import type { GeneratorOptions } from "./options.ts";
import type { Provider } from "./provider.ts";

/** A kind of server, as data: a new one is an entry in `KINDS` and the file that it opens. */
export interface ServerKind {
  /** For messages. */
  title: string;
  /** Its own address, where the spec is the kind's name alone; null for a kind that has none. */
  url: string | null;
  /** Added to an address without a path. */
  basePath: string;
  /** Variables that hold the key for its own address, and for no other: the first that is set. Empty: it needs none. */
  keyVariables: readonly string[];
  keyHeaders: KeyHeaders;
  /** Default of `--generator-concurrency`: how many requests it takes at once. */
  concurrency: number;
  /** How many it takes at most, whatever is set. */
  mostConcurrency: number;
  /** Whether its images are paid for; absent: by its address. */
  isPaid?: boolean;
  /** Whether every request must name a model. */
  needsModel: boolean;
  /** The models that the server at a URL is known to have, and the one for requests that name none, if there is one. */
  modelsAt(server: { url: string }): { known: Matrix; default: string | null } | null;
  /** A model to begin with, where every request must name one; absent: none is better known than others. */
  firstModel?: string;
  /** How one on this machine is found; absent: none is looked for. */
  local?: LocalServers;
  /** The fields in which the server at a URL takes a seed and a negative prompt. One that is absent it does not have. */
  fieldNamesAt(server: { url: string }): FieldNames;
  /** Loads its code, and makes it. */
  open(setup: ServerSetup, deps: ProviderDeps): Promise<Provider>;
}

/** How servers of a kind are found on this machine. */
export interface LocalServers {
  /** Where they usually listen. What answers there may be of any kind. */
  ports: readonly number[];
  /** A path below the base that they answer. */
  path: string;
  /** Whether a reply to that is one of theirs. */
  isOwn: (json: unknown) => boolean;
}

/** What a server's provider is made from. */
export interface ServerSetup {
  /** Its base. */
  url: string;
  /** The headers that carry its key; empty without one. */
  keyHeaders: Readonly<Record<string, string>>;
  options: GeneratorOptions;
}

/** As most servers and services call them. */
export const USUAL_NAMES: FieldNames = { seed: "seed", negative: "negative_prompt" };

/** A server of one's own: it works on one image at a time, and has whatever model it has loaded. */
export const LOCAL = {
  url: null,
  basePath: "",
  keyVariables: [],
  keyHeaders: bearer,
  concurrency: 1,
  mostConcurrency: Number.POSITIVE_INFINITY,
  needsModel: false,
  modelsAt: () => null,
  fieldNamesAt: () => USUAL_NAMES,
} as const satisfies Partial<ServerKind>;

/** How many jobs Black Forest Labs lets run at once, those that it works on included: it answers 429 to more. */
export const MOST_BFL_JOBS = 24;

/** A service on the internet: it works on several images at once, with the model that each request names. */
export const SERVICE = { ...LOCAL, concurrency: 4, needsModel: true } as const satisfies Partial<ServerKind>;
