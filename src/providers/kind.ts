import type { HttpClientOptions } from "../api/http-client.ts";
import type { Proxies } from "../api/proxies.ts";
import type { Clock } from "../lib/clock.ts";
import type { Matrix } from "../models/matrix.ts";
import type { SizeForm } from "../task/intent.ts";
import type { GeneratorFields } from "../task/request.ts";
import type { FieldNames } from "../task/request-fields.ts";
import type { Provider } from "./provider.ts";

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
  maxConcurrency: number;
  /** Whether its images are paid; absent: its address decides. */
  isPaid?: boolean;
  /** Whether every request must name a model. */
  needsModel: boolean;
  /** The models that the server at a URL is known to have, and the one for requests that name none, if there is one. */
  modelsAt(server: { url: string }): { matrix: Matrix; default: string | null } | null;
  /** A model to suggest, if every request must name one; absent: none. */
  firstModel?: string;
  /** Search for servers on this machine; absent: none. */
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

/** Search for servers of a kind on this machine. */
export interface LocalServers {
  /** Their usual ports, which servers of other kinds may use too. */
  ports: readonly number[];
  /** A path below the base that they answer. */
  path: string;
  /** Whether a reply to it is a server's of this kind. */
  isOwn: (json: unknown) => boolean;
}

/** Parts of a server's provider. */
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
  maxConcurrency: Number.POSITIVE_INFINITY,
  needsModel: false,
  modelsAt: () => null,
  fieldNamesAt: () => USUAL_NAMES,
} as const satisfies Partial<ServerKind>;

/** A service on the internet: it works on several images at once, with the model that each request names. */
export const SERVICE = { ...LOCAL, concurrency: 4, needsModel: true } as const satisfies Partial<ServerKind>;

/**
 * How a generator is used. What makes an image, and whether it is paid for, is settled with the intent of its task; here it is
 * what the user has set for new ones.
 */
export interface GeneratorOptions {
  /** `--generator-model` */
  model: string | null;
  /** `--generator-side`: the longest side in pixels for 1K or no quality; 2K is twice, 4K four times as long. Default 1024. */
  sidePx: number;
  /** `--generator-size`: how a size is sent; null: as its kind does. */
  sizeForm: SizeForm | null;
  /** `--generator-concurrency`. Default: by the kind. */
  concurrency: number;
  /** `--generator-timeout`. Default 600 000. */
  timeoutMs: number;
  /** Defaults of requests: `--field`. */
  defaults: Pick<GeneratorFields, "fields">;
  /** Defaults of requests in config.json: `seed`, `negative` and `field`. */
  savedFields: GeneratorFields;
  /** The names of its fields for a seed and a negative prompt. */
  fieldNames: FieldNames;
  /** `--workflow`: the user's file, and how messages name the option; undefined for none. */
  workflow?: { path: string; label: string } | undefined;
  /** `--generator-header`, with the variables' values in place. */
  headers: Readonly<Record<string, string>>;
  /** Follows from the kind and the address, unless `--generator-paid` or `--generator-free` says otherwise. */
  isPaid: boolean;
  key: string | null;
  /** The variable whose key would be sent to it; absent for none. */
  keyVariable?: string;
  /** `name@version` of the package that makes the images, where one does. */
  package?: string;
}

/** Dependencies of a provider on its process. */
export interface ProviderDeps {
  env: Readonly<Record<string, string | undefined>>;
  proxies: Proxies | undefined;
  clock: Clock;
  /** Where what is learned of a service's models is kept for a day; absent: nowhere. */
  cacheFolder?: string | undefined;
  /** Where private copies of workflows are kept; absent: no task is begun, and none is kept. */
  workflows?: string | undefined;
  /** Variables that hold the keys of installed packages. Default: none. */
  packageKeys?: readonly string[];
  /** Called for every HTTP exchange with a server, for `--verbose`. */
  onExchange?: HttpClientOptions["onExchange"];
}
