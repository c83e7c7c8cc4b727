// The interface for packages that make images, exported as the types of `imggen/provider`.

/** Default export of a package for `--generator npm:<name of the package>`. */
export interface ProviderPackage {
  /** Version of this interface. */
  readonly version: 1;
  /** Name of the service, for messages. */
  readonly title: string;
  /** Default address of the API. */
  readonly url: string;
  /** Ending of further host names of the same API: `.example.com`. They receive the key too, over https. */
  readonly otherHosts?: string;
  /** Environment variables for the key, in order of preference. The key is used only for the origin of `url`. */
  readonly keyVariables?: readonly string[];
  /** Headers with the key. Default: `Authorization: Bearer`. */
  keyHeaders?(key: string): Record<string, string>;
  /** Whether images cost money, so that no request is sent twice. Default: true, except in a private network. */
  readonly isPaid?: boolean;
  /** Maximum concurrent requests. Default: 4. */
  readonly concurrency?: number;
  /** Whether every request needs a model. Default: false. */
  readonly needsModel?: boolean;
  /** Names of the fields for `--seed` and `--negative`. A flag without a field is refused. */
  readonly fieldNames?: { readonly seed?: string; readonly negative?: string };
  /** Names of further fields for `--field`. Default: any name. */
  readonly settings?: readonly string[];
  /** Called once in each run. It must not send anything. */
  create(setup: ProviderSetup): Provider;
}

export interface ProviderSetup {
  /** Address of the API, without a slash at its end. */
  readonly url: string;
  /** Null if there is no key. `fetch` and the request for an image add the key automatically. */
  readonly key: string | null;
  readonly options: ProviderOptions;
  /** Sends free requests, such as for a list of models. */
  readonly fetch: Fetch;
}

export interface ProviderOptions {
  /** Value of `--generator-model`, or null. */
  readonly model: string | null;
  readonly isPaid: boolean;
}

/**
 * Sends a GET with the key to a path below the API's address, or to an address of its hosts. It uses the user's
 * proxy, does not follow redirects, and is shown by `--verbose`. @throws unless the reply is successful and
 * contains JSON
 */
export type Fetch = (at: string) => Promise<{ readonly status: number; json(): Promise<unknown> }>;

/**
 * Generates images. imggen sends the request for an image once and stores the reply on disk before calling
 * `read`, so that a killed process loses no reply and a request that may be charged is never repeated.
 */
export interface Provider {
  /** Returns a sentence about an unsupported option, or null. */
  check?(job: Job): string | null;
  /** Returns the request for one image, sent as JSON with POST. @throws Error to refuse the job; nothing is sent */
  request(job: Job): ImageRequest | Promise<ImageRequest>;
  /** Parses the JSON of a successful reply; null if it is unknown. It may be called again after a crash. */
  read(reply: unknown): ReadReply | null;
  /** Returns the state of a job. Required if `read` returns an id. After an error, the job is polled again. */
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
  /** Null for the service's default. */
  readonly model: string | null;
  /** Unchanged user input: `16:9`, `auto`. */
  readonly ratio: string | undefined;
  /** Unchanged user input: `1K`, `2K`, `4K`. */
  readonly quality: string | undefined;
  /** In pixels, from ratio, quality and `--generator-side`. */
  readonly width: number;
  readonly height: number;
  /** Reference images: `https:` and `data:` URLs. */
  readonly images: readonly string[];
  /**
   * Values of `--field`, `--field-json`, `--seed` and `--negative`. A seed above 2^53 - 1 is a string of
   * digits, and is sent as a number.
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
  /** Job to poll. `poll` receives only the id, perhaps in another process. */
  | { id: string }
  /** One image. `usage`: cost reported by the service. */
  | (ReadImage & { usage?: Record<string, unknown> })
  /** Several images for one request. All are saved if they are paid for. */
  | { images: readonly ReadImage[]; usage?: Record<string, unknown> }
  /** Refusal by the service, without an image or a charge. */
  | { refused: string };

export type ReadImage = { base64: string } | { url: string };

export type JobState =
  | { status: "running" }
  | { status: "done"; urls: readonly string[]; usage?: Record<string, unknown> }
  /** `why`: reason given by the service. */
  | { status: "failed"; why: string };
