// Types for packages that make images, published as `imggen/provider`.

/** Default export of a package that is used with `--generator npm:<name of the package>`. */
export interface ProviderPackage {
  /** Version of this interface. */
  readonly version: 1;
  /** Name of the service, for messages. */
  readonly title: string;
  /** Default address of the API. */
  readonly url: string;
  /** Suffix of other host names of the API: `.example.com`. They receive the key too, over https only. */
  readonly otherHosts?: string;
  /** Environment variables for the key, in order of preference. Used only for addresses with the origin of `url`. */
  readonly keyVariables?: readonly string[];
  /** Returns the headers with the key. Default: `Authorization: Bearer`. */
  keyHeaders?(key: string): Record<string, string>;
  /**
   * Whether images cost money. If so, imggen does not repeat a request that might have been charged.
   * Default: true, except in a private network.
   */
  readonly isPaid?: boolean;
  /** Maximum number of concurrent requests. Default: 4. */
  readonly concurrency?: number;
  /** Whether every request needs a model. Default: false. */
  readonly needsModel?: boolean;
  /** Names of the fields for `--seed` and `--negative`. imggen refuses a flag if the name of its field is missing. */
  readonly fieldNames?: { readonly seed?: string; readonly negative?: string };
  /** Names of other fields that the user can set with `--field`. Default: any name. */
  readonly settings?: readonly string[];
  /** Creates the provider. imggen calls this function once in each run. The function must not send requests. */
  create(setup: ProviderSetup): Provider;
}

export interface ProviderSetup {
  /** Address of the API, without a slash at its end. */
  readonly url: string;
  /** The user's key, or null. imggen adds the key to requests for images and to requests by `fetch`. */
  readonly key: string | null;
  readonly options: ProviderOptions;
  /** Sends free requests, for example for a list of models. */
  readonly fetch: Fetch;
}

export interface ProviderOptions {
  /** Value of `--generator-model`, or null. */
  readonly model: string | null;
  readonly isPaid: boolean;
}

/**
 * Sends a GET request with the key. `at` is a path below the API's address, or a URL of one of the API's hosts. The
 * request uses the user's proxy, does not follow redirects, and is shown by `--verbose`.
 * @throws Error unless the reply is successful and contains JSON
 */
export type Fetch = (at: string) => Promise<{ readonly status: number; json(): Promise<unknown> }>;

/**
 * Generates images. imggen sends the request for an image only once, and stores the reply on disk before it calls
 * `read`, so that a killed process does not lose a paid image.
 */
export interface Provider {
  /** Returns a sentence about an unsupported option, or null. */
  check?(job: Job): string | null;
  /** Returns the request for one image, sent as JSON with POST. @throws Error to refuse the job; nothing is sent */
  request(job: Job): ImageRequest | Promise<ImageRequest>;
  /** Parses the JSON of a successful reply, possibly again after a crash. Returns null if the form is unknown. */
  read(reply: unknown): ReadReply | null;
  /** Returns the state of a job. Required if `read` returns an id. After an error, imggen polls the job again. */
  poll?(id: string, how: { readonly fetch: Fetch }): Promise<JobState>;
  /** Returns the request that cancels a job. */
  cancel?(id: string): { method: "POST" | "PUT"; path: string };
  /** Returns the names of models. */
  models?(): Promise<readonly string[] | null>;
}

/** Request for one image. */
export interface Job {
  /** imggen's id of the task. */
  readonly taskId: string;
  readonly prompt: string;
  /** Name of the model, or null for the service's default model. */
  readonly model: string | null;
  /** Ratio as the user wrote it, such as `16:9` or `auto`. */
  readonly ratio: string | undefined;
  /** Quality as the user wrote it: `1K`, `2K` or `4K`. */
  readonly quality: string | undefined;
  /** Width in pixels, derived from the ratio, the quality and `--generator-side`. */
  readonly width: number;
  /** Height in pixels. */
  readonly height: number;
  /** Reference images as `https:` or `data:` URLs. */
  readonly images: readonly string[];
  /**
   * Values of `--field`, `--field-json`, `--seed` and `--negative` by field name.
   * A seed above 2^53 - 1 is a string of digits, but imggen sends it as a number.
   */
  readonly fields: Readonly<Record<string, FieldValue>>;
}

/** Any JSON value. */
export type FieldValue =
  | string
  | number
  | boolean
  | null
  | readonly FieldValue[]
  | { readonly [name: string]: FieldValue };

export interface ImageRequest {
  /** Path below the API's address. */
  path: string;
  body: unknown;
}

export type ReadReply =
  /** A job to poll. `poll` receives only the id, possibly in another process. */
  | { id: string }
  /** One image. `usage`: cost that the service reports. */
  | (ReadImage & { usage?: Record<string, unknown> })
  /** Several images for one request. imggen saves all of them if they are paid for. */
  | { images: readonly ReadImage[]; usage?: Record<string, unknown> }
  /** The service refused the request, made no image and charged nothing. `refused`: the service's reason. */
  | { refused: string };

export type ReadImage = { base64: string } | { url: string };

export type JobState =
  | { status: "running" }
  | { status: "done"; urls: readonly string[]; usage?: Record<string, unknown> }
  /** `why`: reason that the service reports. */
  | { status: "failed"; why: string };
