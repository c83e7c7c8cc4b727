import type { HttpClientOptions } from "../api/http-client.ts";
import type { Proxies } from "../api/proxies.ts";
import type { Clock } from "../lib/clock.ts";
import type { Matrix } from "../models/matrix.ts";
import type { SizeForm } from "../task/intent.ts";
import type { GeneratorFields } from "../task/request.ts";
import type { FieldNames } from "../task/request-fields.ts";
import type { Provider } from "./provider.ts";

/** Definition of a provider's server. To add one, write an entry in `KINDS` and the file that it opens. */
export interface ServerKind {
  /** For messages. */
  title: string;
  /** Default address; null if an address must be given. */
  url: string | null;
  /** Path that is added to an address without one. */
  basePath: string;
  /**
   * Environment variables with the key for the default address, in order of preference. No other address
   * receives this key. Empty if no key is needed.
   */
  keyVariables: readonly string[];
  keyHeaders: KeyHeaders;
  /** Default of `--generator-concurrency`. */
  concurrency: number;
  /** Maximum of `--generator-concurrency`. */
  maxConcurrency: number;
  /** Whether its images are paid. Default: depends on the address. */
  isPaid?: boolean;
  /** Whether every request must name a model. */
  needsModel: boolean;
  /** Known models of the server at a URL, and the default for requests that name no model; null if not known. */
  modelsAt(server: { url: string }): { matrix: Matrix; default: string | null } | null;
  /** Model to suggest if every request must name one. Default: no suggestion. */
  firstModel?: string;
  /** Search for servers on this machine. Default: no search. */
  local?: LocalSearch;
  /** Names of the server's fields for a seed and a negative prompt; absent if it does not support the field. */
  fieldNamesAt(server: { url: string }): FieldNames;
  /** Loads the code of the provider, and creates the provider. */
  open(setup: ServerSetup, deps: ProviderDeps): Promise<Provider>;
}

/** Creates the request headers with a key. */
type KeyHeaders = (key: string) => Readonly<Record<string, string>>;

export const bearerHeaders: KeyHeaders = (key) => ({ authorization: `Bearer ${key}` });

/** These servers support `user:password`. Any other key is for a proxy in front of the server. */
export const basicOrBearerHeaders: KeyHeaders = (key) =>
  key.includes(":") ? { authorization: `Basic ${Buffer.from(key).toString("base64")}` } : bearerHeaders(key);

export interface LocalSearch {
  /** Default ports, which other software may use as well. */
  ports: readonly number[];
  /** Path to request, relative to the base. */
  path: string;
  /** Whether a reply to `path` is from such a server. */
  isMatch: (json: unknown) => boolean;
}

/** Settings to open a server's provider with. */
export interface ServerSetup {
  /** Base URL. */
  url: string;
  /** Headers with the key; empty without a key. */
  keyHeaders: Readonly<Record<string, string>>;
  options: GeneratorOptions;
}

/** The most common field names of servers and services. */
export const DEFAULT_FIELD_NAMES: FieldNames = { seed: "seed", negative: "negative_prompt" };

/** Defaults of the user's own server. It works on one image at a time, with the model that it has loaded. */
export const LOCAL_DEFAULTS = {
  url: null,
  basePath: "",
  keyVariables: [],
  keyHeaders: bearerHeaders,
  concurrency: 1,
  maxConcurrency: Number.POSITIVE_INFINITY,
  needsModel: false,
  modelsAt: () => null,
  fieldNamesAt: () => DEFAULT_FIELD_NAMES,
} as const satisfies Partial<ServerKind>;

/**
 * Defaults of a service on the internet. It works on several images at once, with the model that each request
 * names.
 */
export const SERVICE_DEFAULTS = {
  ...LOCAL_DEFAULTS,
  concurrency: 4,
  needsModel: true,
} as const satisfies Partial<ServerKind>;

/** Settings of a generator for new tasks. The intent of an existing task has its own provider and price. */
export interface GeneratorOptions {
  /** `--generator-model` */
  model: string | null;
  /**
   * `--generator-side`: longest side in pixels for 1K or no quality. It is doubled for 2K, and doubled again
   * for 4K. Default 1024.
   */
  sidePx: number;
  /** `--generator-size`: format of a size in requests; null for the provider's default. */
  sizeForm: SizeForm | null;
  /** `--generator-concurrency`. Default: depends on the provider. */
  concurrency: number;
  /** `--generator-timeout`. Default 600 000. */
  timeoutMs: number;
  /** Defaults of requests: `--field`. */
  defaults: Pick<GeneratorFields, "fields">;
  /** Defaults of requests in config.json: `seed`, `negative` and `field`. */
  savedFields: GeneratorFields;
  /** Names of the server's fields for a seed and a negative prompt. */
  fieldNames: FieldNames;
  /** `--workflow`: the user's file, and the name of the option for messages. */
  workflow?: { path: string; label: string } | undefined;
  /** `--generator-header`, with the values of environment variables filled in. */
  headers: Readonly<Record<string, string>>;
  /** Default: depends on the provider and the address. `--generator-paid` and `--generator-free` override it. */
  isPaid: boolean;
  key: string | null;
  /** Environment variable with the key, if there is one. */
  keyVariable?: string;
  /** `name@version` of the package that generates the images, if it is a package. */
  package?: string;
}

/** Environment and services that a provider uses. */
export interface ProviderDeps {
  env: Readonly<Record<string, string | undefined>>;
  proxies: Proxies | undefined;
  clock: Clock;
  /** Folder that caches model descriptions for a day; absent: no cache. */
  cacheFolder?: string | undefined;
  /** Folder for private copies of workflows; absent if no task can start. */
  workflows?: string | undefined;
  /** Environment variables with the keys of installed packages. Default: none. */
  packageKeys?: readonly string[];
  /** Called for every HTTP exchange, for `--verbose`. */
  onExchange?: HttpClientOptions["onExchange"];
}
