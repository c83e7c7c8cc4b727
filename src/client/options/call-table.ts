import { UsageError } from "../../lib/error-types.ts";
import { noFlag, type Options, pick } from "./option.ts";
import { valueProblem } from "./option-kinds.ts";
import { BATCH, GENERATE, OUTPUT, REQUEST, VALIDATE } from "./request-table.ts";
import { CANCEL, HISTORY, OTHER_KEY, STATUS, waitOptions } from "./task-table.ts";

const CALL = {
  /** Aborts the call. Charged tasks stay in the ledger, and `resume` finishes them. */
  signal: noFlag("signal"),
  /** Listener for progress. Its errors do not end the call, but become a warning in the result. */
  onProgress: noFlag("listener"),
} satisfies Options;

const WAIT = {
  ...CALL,
  ...pick(waitOptions(""), "timeoutMs", "pollIntervalMs"),
} satisfies Options;

const DEFAULTS = {
  ...REQUEST,
  /**
   * Fields of the generator by the generator's names: `{ steps: 20, loras: [{ path: "fox", scale: 0.8 }] }`.
   * The settings `field` and `fieldJson` add further fields.
   */
  fields: noFlag("fields"),
  ...VALIDATE,
} satisfies Options;

const SINGLE_REQUEST = { prompt: noFlag("text"), ...DEFAULTS } satisfies Options;

/** Options of each call of the package. */
export const CALLS = {
  createClient: {
    /** Base URL of the service. Default: IMGGEN_BASE_URL, or the URL stored by `imggen login`. */
    baseUrl: noFlag("text"),
    /** API key of the service. Default: IMGGEN_API_KEY, or the key stored by `imggen login`. */
    apiKey: noFlag("text"),
    /** Uses the embedded sandbox instead of the service, free and without an account. Default false. */
    sandbox: noFlag("flag"),
    /**
     * Uses your own generator instead of the service: `openai`, a URL, `sdapi:<url>`, `comfyui:<url>`,
     * `replicate`, `fal`, `bfl`, `gemini`, `npm:<package>` or `command:<command line>`. Default:
     * IMGGEN_GENERATOR, or the setting `generator`.
     */
    generator: noFlag("text"),
    /** Key, or `user:password`. Default: IMGGEN_GENERATOR_KEY, or the key from `imggen login --generator`. */
    generatorKey: noFlag("text"),
    /** Default model of the generator. */
    generatorModel: noFlag("text"),
    /** Maximum number of concurrent requests to the generator, over all processes. Default 1. */
    generatorConcurrency: noFlag("whole"),
    /** Timeout of one image at the generator, in milliseconds. Default 600,000. */
    generatorTimeoutMs: noFlag("duration"),
    /** ComfyUI workflow: a file from Export (API), or a PNG saved by ComfyUI. Default: the setting `workflow`. */
    workflow: noFlag("path"),
    /** Whether images cost money, so that each request is sent at most once. Default: by the generator's address. */
    generatorPaid: noFlag("flag"),
    /** Folder of settings, ledger and sandbox. Default: IMGGEN_HOME, or the platform's standard folders. */
    home: noFlag("path"),
    /** JSON file that adds or changes models. Default: IMGGEN_MATRIX, or the setting `matrix`. */
    matrix: noFlag("path"),
    /** Timeout of a submit (default 120 s), a poll (15 s) and an idle download (30 s), in milliseconds. */
    requestTimeoutMs: noFlag("duration"),
  },
  estimate: SINGLE_REQUEST,
  generate: {
    ...SINGLE_REQUEST,
    ...OUTPUT,
    ...WAIT,
    ...pick(GENERATE, "wait", "maxCredits", "reuse", "again"),
  },
  reuse: { ...SINGLE_REQUEST, ...WAIT, ...pick(OUTPUT, "output", "overwrite") },
  batch: {
    ...DEFAULTS,
    ...OUTPUT,
    ...WAIT,
    ...pick(BATCH, "concurrency", "maxCredits", "yes", "resubmitUnknown", "retryFailed"),
  },
  status: { ...OUTPUT, ...WAIT, ...OTHER_KEY, ...pick(STATUS, "wait") },
  resume: { ...pick(OUTPUT, "output", "overwrite"), ...WAIT, ...OTHER_KEY },
  cancel: { ...WAIT, ...OTHER_KEY, ...pick(CANCEL, "wait") },
  history: { ...pick(CALL, "signal"), ...pick(HISTORY, "limit", "search", "status", "model", "since") },
} satisfies Readonly<Record<string, Options>>;

/** Checks options of callers without types. @throws UsageError with the names of call and option */
export function checkOptions(call: keyof typeof CALLS, options: unknown): void {
  if (typeof options !== "object" || options === null)
    throw new UsageError(`${call}: options must be an object.`);
  const table: Options = CALLS[call];
  for (const [name, value] of Object.entries(options)) {
    const option = Object.hasOwn(table, name) ? table[name] : undefined;
    if (option === undefined) {
      const hint = `Options are ${Object.keys(table).join(", ")}.`;
      throw new UsageError(`${call}: there is no option ${JSON.stringify(name)}.`, { hint });
    }
    const problem = value === undefined ? null : valueProblem(option, value);
    if (problem !== null) throw new UsageError(`${call}: ${name} must be ${problem}.`);
  }
}
