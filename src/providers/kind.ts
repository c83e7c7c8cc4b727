import type { Matrix } from "../models/matrix.ts";
import type { FieldNames } from "../task/request-fields.ts";
import type { GeneratorOptions } from "./generator-options.ts";
import type { Provider } from "./provider.ts";
import type { ProviderDeps } from "./provider-deps.ts";

/** A kind of server, as data: a new one is an entry in `KINDS` and the file that it opens. */
export interface ServerKind {
  /** For messages. */
  title: string;
  /** The address that the kind's name alone stands for; null if the kind has none. */
  url: string | null;
  /** Added to an address without a path. */
  basePath: string;
  /** Variables that hold the key for its own address, and for no other: the first that is set. Empty: it needs none. */
  keyVariables: readonly string[];
  keyHeaders: KeyHeaders;
  /** Default of `--generator-concurrency`: how many requests it takes at once. */
  concurrency: number;
  /** The most that `--generator-concurrency` may be. */
  mostConcurrency: number;
  /** Whether its images are paid; absent: its address decides. */
  isPaid?: boolean;
  /** Whether every request must name a model. */
  needsModel: boolean;
  /** The models that the server at a URL is known to have, and the one for requests that name none, if there is one. */
  modelsAt(server: { url: string }): { matrix: Matrix; default: string | null } | null;
  /** A model to suggest, if every request must name one; absent: none. */
  firstModel?: string;
  /** How servers on this machine are found; absent: they are not searched for. */
  local?: LocalServers;
  /** The names of the server's fields for a seed and a negative prompt; absent: it has no such field. */
  fieldNamesAt(server: { url: string }): FieldNames;
  /** Loads its code, and makes it. */
  open(setup: ServerSetup, deps: ProviderDeps): Promise<Provider>;
}

/** How a key goes into the headers of a request. */
type KeyHeaders = (key: string) => Readonly<Record<string, string>>;

export const bearer: KeyHeaders = (key) => ({ authorization: `Bearer ${key}` });

/** `user:password` is what these servers know; any other key is for a proxy before one. */
export const basicOrBearer: KeyHeaders = (key) =>
  key.includes(":") ? { authorization: `Basic ${Buffer.from(key).toString("base64")}` } : bearer(key);

/** How servers of a kind are found on this machine. */
export interface LocalServers {
  /** Their usual ports, which servers of other kinds may use too. */
  ports: readonly number[];
  /** A path below the base that they answer. */
  path: string;
  /** Whether a reply to it is a server's of this kind. */
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

/** The usual names at servers and services. */
export const USUAL_NAMES: FieldNames = { seed: "seed", negative: "negative_prompt" };

/** The user's own server: it works on one image at a time, with the model that it has loaded. */
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

/** The most jobs that Black Forest Labs has at once, queued or running: it answers 429 to more. */
export const MOST_BFL_JOBS = 24;

/** A service on the internet: it works on several images at once, with the model that each request names. */
export const SERVICE = { ...LOCAL, concurrency: 4, needsModel: true } as const satisfies Partial<ServerKind>;
