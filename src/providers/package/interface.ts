// The interface for packages that make images, exported as the types of `imggen/provider`.

/** What a package exports by default. It is used with `--generator npm:<name of the package>`. */
export interface ProviderPackage {
  /** The version of this interface. */
  readonly version: 1;
  /** The name of the service, for messages. */
  readonly title: string;
  /** The address of its API, where the user gives no other. */
  readonly url: string;
  /** The end of the names of further hosts of the same API, `.example.com`: the key goes to them too, over https. */
  readonly otherHosts?: string;
  /** Environment variables that hold its key: the first that is set is used, for the origin of `url` alone. */
  readonly keyVariables?: readonly string[];
  /** The headers that carry the key. Default: `Authorization: Bearer`. */
  keyHeaders?(key: string): Record<string, string>;
  /** Whether images cost money, so that no request is sent twice. Default: unless it is in a private network. */
  readonly isPaid?: boolean;
  /** How many requests it takes at once. Default: 4. */
  readonly concurrency?: number;
  /** Whether every request must name a model. Default: no. */
  readonly needsModel?: boolean;
  /** The fields for `--seed` and `--negative`. A flag without a field is refused. */
  readonly fieldNames?: { readonly seed?: string; readonly negative?: string };
  /** Further names that `--field` accepts. Absent: any. */
  readonly settings?: readonly string[];
  /** Called once in each run that uses it. Nothing may be sent. */
  create(setup: ProviderSetup): Provider;
}

/** What a provider is made from. */
export interface ProviderSetup {
  /** The address of the API, without a slash at its end. */
  readonly url: string;
  /** null without one. `fetch` and the request for an image carry it by themselves. */
  readonly key: string | null;
  readonly options: ProviderOptions;
  /** For what costs nothing, such as a list of models. */
  readonly fetch: Fetch;
}

export interface ProviderOptions {
  /** The user's `--generator-model`; null for none. */
  readonly model: string | null;
  readonly isPaid: boolean;
}

/**
 * Sends a GET with the key, to a path below the API's address or to an address of one of its hosts; through the user's
 * proxy, without following redirects, and shown by `--verbose`. @throws where there is no JSON with a status of success
 */
export type Fetch = (at: string) => Promise<{ readonly status: number; json(): Promise<unknown> }>;

/**
 * Makes images. imggen itself sends the request for an image, once, and keeps the reply on disk before `read` sees it: so
 * a process that is killed after the reply has lost nothing, and a request that may have been paid for is never repeated.
 */
export interface Provider {
  /** A sentence about an option that it does not support; null for none. */
  check?(job: Job): string | null;
  /** The request for one image, sent as JSON with POST. @throws Error where it cannot be made: nothing is sent then */
  request(job: Job): ImageRequest | Promise<ImageRequest>;
  /** What the JSON of a reply of success says; null where it is not understood. May be called again after a crash. */
  read(reply: unknown): ReadReply | null;
  /** How a job is. Needed where `read` returns an id. An error is no end of the job: it is polled again. */
  poll?(id: string, how: { readonly fetch: Fetch }): Promise<JobState>;
  /** Where a job is cancelled. */
  cancel?(id: string): { method: "POST" | "PUT"; path: string };
  /** The names of the models. */
  models?(): Promise<readonly string[] | null>;
}

/** One image that is asked for. */
export interface Job {
  /** imggen's own id of the task. */
  readonly taskId: string;
  readonly prompt: string;
  /** null: whatever it has. */
  readonly model: string | null;
  /** As the user gave it: `16:9`, `auto`. */
  readonly ratio: string | undefined;
  /** As the user gave it: `1K`, `2K`, `4K`. */
  readonly quality: string | undefined;
  /** Pixels, from ratio, quality and `--generator-side`. */
  readonly width: number;
  readonly height: number;
  /** Reference images: `https:` and `data:` URLs. */
  readonly images: readonly string[];
  /** `--field`, `--field-json`, `--seed` and `--negative`. A seed beyond 2^53 - 1 is its digits as text, and sent as a number. */
  readonly fields: Readonly<Record<string, FieldValue>>;
}

/** The value of a field: as JSON can have it. */
export type FieldValue =
  | string
  | number
  | boolean
  | null
  | readonly FieldValue[]
  | { readonly [name: string]: FieldValue };

export interface ImageRequest {
  /** A path below the API's address. */
  path: string;
  body: unknown;
}

export type ReadReply =
  /** A job to poll. The id is all that `poll` gets, perhaps in another process. */
  | { id: string }
  /** The image itself. `usage`: what the service says of cost. */
  | (ReadImage & { usage?: Record<string, unknown> })
  /** Several images for one request: all are saved if they are paid for. */
  | { images: readonly ReadImage[]; usage?: Record<string, unknown> }
  /** The service has answered that it makes no such image, and charges nothing for it. */
  | { refused: string };

export type ReadImage = { base64: string } | { url: string };

export type JobState =
  | { status: "running" }
  | { status: "done"; urls: readonly string[]; usage?: Record<string, unknown> }
  /** `why`: the service's words. */
  | { status: "failed"; why: string };
