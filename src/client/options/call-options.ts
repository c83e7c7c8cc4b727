import type { OnTaskProgress } from "../../core/engine/events.ts";
import type { HistoryStatus } from "../../core/use-cases/history.ts";
import type { JsonValue } from "../../lib/json.ts";

/** Where a client finds its account and keeps its ledger. What is left out is as for the command line. */
export interface ClientOptions {
  /** The service's base URL. Default: IMGGEN_BASE_URL, else what `imggen login` has stored. */
  baseUrl?: string | undefined;
  /** Default: IMGGEN_API_KEY, else what `imggen login` has stored. */
  apiKey?: string | undefined;
  /** Uses the embedded sandbox in place of a service: free, and without an account. Default false. */
  sandbox?: boolean | undefined;
  /**
   * Uses your own generator in place of a service: `openai`, a URL, `sdapi:<url>`, `comfyui:<url>`, `replicate`, `fal`, `bfl`,
   * `gemini`, `npm:<package>` or `command:<command line>`. Default:
   * IMGGEN_GENERATOR, else the setting `generator`.
   */
  generator?: string | undefined;
  /** Its key, or `user:password`. Default: IMGGEN_GENERATOR_KEY, else what `imggen login --generator` has stored for it. */
  generatorKey?: string | undefined;
  /** Its model, where a request names none. */
  generatorModel?: string | undefined;
  /** How many requests it gets at once, over all processes. Default 1. */
  generatorConcurrency?: number | undefined;
  /** How long one image may take, milliseconds. Default 600,000. */
  generatorTimeoutMs?: number | undefined;
  /** A ComfyUI workflow for each request: a file of Export (API), or a PNG that ComfyUI saved. Default: the setting `workflow`. */
  workflow?: string | undefined;
  /** Whether its images cost money, so that no request is sent twice. Default: as its address says. */
  generatorPaid?: boolean | undefined;
  /** The folder of settings, ledger and sandbox. Default: IMGGEN_HOME, else the platform's own places. */
  home?: string | undefined;
  /** A JSON file that adds or changes models. Default: IMGGEN_MATRIX, else the setting `matrix`; else none. */
  matrix?: string | undefined;
  /** Ends a submit (default 120 s), a poll (15 s) or an idle download (30 s), milliseconds. */
  requestTimeoutMs?: number | undefined;
}

/** What every call takes. */
export interface CallOptions {
  /** Aborts the call: what is charged stays in the ledger, and `resume` finishes it. */
  signal?: AbortSignal | undefined;
  /** What it throws or rejects with ends nothing: it becomes a warning in the result. */
  onProgress?: OnTaskProgress | undefined;
}

/** How a call waits for the service. */
export interface WaitOptions extends CallOptions {
  /** How long to wait for a result, milliseconds. Default: 180,000, and 600,000 for 4K. */
  timeoutMs?: number | undefined;
  /** Polls at a fixed interval, milliseconds, 100 or more. Default: automatic. */
  pollIntervalMs?: number | undefined;
}

/** The fields of a request; what is left out is left to the service. */
export interface RequestOptions {
  prompt: string;
  /** An id, or the part of it after the slash. Default: `vendor1/alpha-2`. */
  model?: string | undefined;
  /** `16:9`, or `auto`. */
  ratio?: string | undefined;
  /** `basic`, `high`, `1K`, `2K` or `4K`, as the model allows. */
  quality?: string | undefined;
  /** URLs of reference images; with a generator of the user's own, files too. */
  image?: string | readonly string[] | undefined;
  maxImages?: number | undefined;
  /**
   * The seed of the first image at a generator of the user's own, where it has a field for one; each further image of a
   * request has the next. Beyond 2^53 - 1 its digits as text, up to 2^64 - 1.
   */
  seed?: number | string | undefined;
  /** A negative prompt, for a generator that has a field for it. */
  negative?: string | undefined;
  /**
   * Fields of a generator by their names there: `{ steps: 20, loras: [{ path: "fox", scale: 0.8 }] }`. They are added to the
   * settings `field` and `fieldJson`.
   */
  fields?: Readonly<Record<string, JsonValue>> | undefined;
  /** False sends what the model matrix does not allow, or does not know. Default true. */
  validate?: boolean | undefined;
}

/** Where images go. */
export interface OutputOptions {
  /** A folder, which ends in `/` or is there already, or a file. Default: the working folder. */
  output?: string | undefined;
  /** Template of file names in a folder: `{slug}-{task}.{ext}`. */
  name?: string | undefined;
  /** Replaces files that are there already. Default false. */
  overwrite?: boolean | undefined;
}

export interface GenerateOptions extends RequestOptions, OutputOptions, WaitOptions {
  /** False returns once the task is accepted. Default true. */
  wait?: boolean | undefined;
  /** Refuses to spend more than so many credits. */
  maxCredits?: number | undefined;
  /** Takes an identical request that was charged already, and charges nothing. Default false. */
  reuse?: boolean | undefined;
  /** Submits a new task even if an identical request is charged and unfinished, or of unknown outcome. Default false. */
  again?: boolean | undefined;
}

/** A request, how its earlier task is waited for, and the file that its image is copied to; a folder changes nothing. */
export interface ReuseOptions extends RequestOptions, WaitOptions, Omit<OutputOptions, "name"> {}

/** One row: what it sets goes before the batch's own. `output` is a name below the batch's folder. */
export type BatchRowOptions = Omit<RequestOptions, "validate"> & Pick<OutputOptions, "output">;

export interface BatchOptions extends Partial<Omit<RequestOptions, "prompt">>, OutputOptions, WaitOptions {
  /** Rows under way at once, 1 to 256. Default 4. */
  concurrency?: number | undefined;
  /** The total budget in credits, earlier runs included. */
  maxCredits?: number | undefined;
  /** Spends more than the setting `confirmAbove`, and fills a folder that another machine has begun. */
  yes?: boolean | undefined;
  /** Submits rows of unknown outcome again, at a new charge. */
  resubmitUnknown?: boolean | undefined;
  /** Submits failed rows again, at a new charge. */
  retryFailed?: boolean | undefined;
}

export interface StatusOptions extends OutputOptions, WaitOptions, KeyOptions {
  /** Polls until the task is finished. Default: polls once. */
  wait?: boolean | undefined;
}

/** Of tasks that are continued. */
interface KeyOptions {
  /** Continues with another API key than a task was submitted with. Default false. */
  yes?: boolean | undefined;
}

export interface ResumeOptions extends Omit<OutputOptions, "name">, WaitOptions, KeyOptions {}

export interface CancelOptions extends WaitOptions, KeyOptions {
  /** Waits for what is paid and on its way. Default: it is left, and said. */
  wait?: boolean | undefined;
}

/** Which tasks are wanted; what is left out asks nothing. */
export interface HistoryOptions extends Pick<CallOptions, "signal"> {
  /** How many at most. Default 20. */
  limit?: number | undefined;
  /** A part of the prompt, in any case. */
  search?: string | undefined;
  /** `completed` (saved), `failed`, or where open ones stand: `waiting`, `running`, `accepted`, `made`, `unknown`; `unfinished`: all of these. */
  status?: HistoryStatus | undefined;
  /** An id, or the part of it after the slash. */
  model?: string | undefined;
  /** A day such as `2026-01-31`, or an age: `12h`, `7d`, `2w`. */
  since?: string | undefined;
}
