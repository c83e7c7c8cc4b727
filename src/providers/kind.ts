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
  title: string;
  /** Default address; null if an address must be given. */
  url: string | null;
  /** Path that is added to an address without one. */
  basePath: string;
  /** Environment variables with the key, first match first. Only the default address receives this key. */
  keyVariables: readonly string[];
  keyHeaders: KeyHeaders;
  /** Default of `--generator-concurrency`. */
  concurrency: number;
  maxConcurrency: number;
  /** Whether its images are paid. Default: depends on the address. */
  isPaid?: boolean;
  needsModel: boolean;
  /** Known models of the server at a URL, and the default for requests that name no model; null if not known. */
  modelsAt(server: { url: string }): { matrix: Matrix; default: string | null } | null;
  /** Model to suggest if every request must name one. Default: no suggestion. */
  firstModel?: string;
  local?: LocalSearch;
  /** Names of the server's fields for a seed and a negative prompt; absent if it does not support the field. */
  fieldNamesAt(server: { url: string }): FieldNames;
  open(setup: ServerSetup, deps: ProviderDeps): Promise<Provider>;
}

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
  isMatch: (json: unknown) => boolean;
}

export interface ServerSetup {
  url: string;
  /** Headers with the key; empty without a key. */
  keyHeaders: Readonly<Record<string, string>>;
  options: GeneratorOptions;
}

export const DEFAULT_FIELD_NAMES: FieldNames = { seed: "seed", negative: "negative_prompt" };

/** Defaults of the user's own server, which works on one image at a time with the model that it has loaded. */
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

/** Defaults of an internet service, which works on several images at once with the model of each request. */
export const SERVICE_DEFAULTS = {
  ...LOCAL_DEFAULTS,
  concurrency: 4,
  needsModel: true,
} as const satisfies Partial<ServerKind>;

/** Settings of a generator for new tasks. The provider and the price of an existing task are fixed in its intent. */
export interface GeneratorOptions {
  /** `--generator-model` */
  model: string | null;
  /** `--generator-side`: longest side in pixels for 1K or no quality; 2K doubles it, 4K quadruples it. Default 1024. */
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
  fieldNames: FieldNames;
  /** `--workflow`: the user's file, and the name of the option for messages. */
  workflow?: { path: string; label: string } | undefined;
  /** `--generator-header`, with the values of environment variables filled in. */
  headers: Readonly<Record<string, string>>;
  /** Default: depends on the provider and the address. `--generator-paid` and `--generator-free` override it. */
  isPaid: boolean;
  key: string | null;
  keyVariable?: string;
  /** `name@version` of the package that generates the images, if it is a package. */
  package?: string;
}

export interface ProviderDeps {
  env: Readonly<Record<string, string | undefined>>;
  proxies: Proxies | undefined;
  clock: Clock;
  /** Folder that caches model descriptions for a day; absent: no cache. */
  cacheFolder?: string | undefined;
  /** Folder for private copies of workflows; absent if no task is started. */
  workflows?: string | undefined;
  /** Environment variables with the keys of installed packages. Default: none. */
  packageKeys?: readonly string[];
  /** Called for every HTTP exchange, for `--verbose`. */
  onExchange?: HttpClientOptions["onExchange"];
}
