import type { HttpClientOptions } from "../api/http-client.ts";
import type { Proxies } from "../api/proxies.ts";
import type { Clock } from "../lib/clock.ts";
import type { Matrix } from "../models/matrix.ts";
import type { SizeForm } from "../task/intent.ts";
import type { GeneratorFields } from "../task/request.ts";
import type { FieldNames } from "../task/request-fields.ts";
import type { Provider } from "./provider.ts";

/** A new kind of server needs an entry in `KINDS`, and a file that `open` imports. */
export interface ServerKind {
  title: string;
  /** Default address; null if the user must set an address. */
  url: string | null;
  /** Path that is added to an address without a path. */
  basePath: string;
  /** Environment variables for the key at the default address. The first that is set is used. */
  keyVariables: readonly string[];
  keyHeaders: KeyHeaders;
  /** Default of `--generator-concurrency`. */
  concurrency: number;
  maxConcurrency: number;
  /** Default: depends on the address. */
  isPaid?: boolean;
  needsModel: boolean;
  /** `default`: model of a request without a model; null if unknown. */
  modelsAt(server: { url: string }): { matrix: Matrix; default: string | null } | null;
  /** Model that a message suggests if a required model is missing. Default: no suggestion. */
  firstModel?: string;
  local?: LocalSearch;
  /** Names of the fields for a seed and a negative prompt. An unsupported field is absent. */
  fieldNamesAt(server: { url: string }): FieldNames;
  open(setup: ServerSetup, deps: ProviderDeps): Promise<Provider>;
}

type KeyHeaders = (key: string) => Readonly<Record<string, string>>;

export const bearerHeaders: KeyHeaders = (key) => ({ authorization: `Bearer ${key}` });

/** A key such as `user:password` is a basic login. A key without a colon is a bearer token for a proxy. */
export const basicOrBearerHeaders: KeyHeaders = (key) =>
  key.includes(":") ? { authorization: `Basic ${Buffer.from(key).toString("base64")}` } : bearerHeaders(key);

export interface LocalSearch {
  /** Default ports of the server, which other software can use too. */
  ports: readonly number[];
  /** Path of the request that identifies the server, relative to the base URL. */
  path: string;
  isMatch: (json: unknown) => boolean;
}

export interface ServerSetup {
  url: string;
  /** Empty if there is no key. */
  keyHeaders: Readonly<Record<string, string>>;
  options: GeneratorOptions;
}

export const DEFAULT_FIELD_NAMES: FieldNames = { seed: "seed", negative: "negative_prompt" };

/** Defaults of a server on the user's machine or network, which makes one image at a time with its loaded model. */
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

/** Defaults of an internet service, which makes several images at a time, and needs a model in each request. */
export const SERVICE_DEFAULTS = {
  ...LOCAL_DEFAULTS,
  concurrency: 4,
  needsModel: true,
} as const satisfies Partial<ServerKind>;

/** Settings of a generator for new tasks. An existing task uses the provider and the `isPaid` in its intent. */
export interface GeneratorOptions {
  model: string | null;
  /** `--generator-side`: longest side for the quality 1K or none. 2K doubles it, 4K quadruples it. Default: 1024. */
  sidePx: number;
  /** `--generator-size`: format of a size in requests; null for the provider's default. */
  sizeForm: SizeForm | null;
  /** `--generator-concurrency`. Default: depends on the provider. */
  concurrency: number;
  /** `--generator-timeout`, in milliseconds. Default: 600 000. */
  timeoutMs: number;
  /** Defaults of requests from `--field`. */
  defaults: Pick<GeneratorFields, "fields">;
  /** Defaults of requests from `seed`, `negative` and `field` in config.json. */
  savedFields: GeneratorFields;
  fieldNames: FieldNames;
  /** `--workflow`: the user's file, and the name of the option for messages. */
  workflow?: { path: string; label: string } | undefined;
  /** Headers from `--generator-header`, with the values of the environment variables. */
  headers: Readonly<Record<string, string>>;
  /** `--generator-paid` or `--generator-free`. Default: depends on the provider and the address. */
  isPaid: boolean;
  key: string | null;
  keyVariable?: string;
  /** `name@version` of the package that makes the images; absent for other providers. */
  package?: string;
}

export interface ProviderDeps {
  env: Readonly<Record<string, string | undefined>>;
  proxies: Proxies | undefined;
  clock: Clock;
  /** Folder in which model descriptions are cached for a day. Absent: no cache. */
  cacheFolder?: string | undefined;
  /** Folder for private copies of workflows. Absent if this run starts no task. */
  workflows?: string | undefined;
  /** Environment variables for the keys of installed packages. */
  packageKeys?: readonly string[];
  /** Called for every HTTP exchange. */
  onExchange?: HttpClientOptions["onExchange"];
}
