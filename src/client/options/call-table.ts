import { UsageError } from "../../lib/error-types.ts";
import { noFlag, type Options, pick } from "./option.ts";
import { valueProblem } from "./option-kinds.ts";
import { BATCH, GENERATE, OUTPUT, REQUEST, VALIDATE } from "./request-table.ts";
import { CANCEL, HISTORY, OTHER_KEY, STATUS, waitOptions } from "./task-table.ts";

const CALL = {
  /** Aborts the call: what is charged stays in the ledger, and `resume` finishes it. */
  signal: noFlag("signal"),
  /** What it throws or rejects with ends nothing: it becomes a warning in the result. */
  onProgress: noFlag("listener"),
} satisfies Options;

const WAIT = {
  ...CALL,
  ...pick(waitOptions(""), "timeoutMs", "pollIntervalMs"),
} satisfies Options;

const DEFAULTS = {
  ...REQUEST,
  /**
   * Fields of a generator by their names there: `{ steps: 20, loras: [{ path: "fox", scale: 0.8 }] }`. They are added to the
   * settings `field` and `fieldJson`.
   */
  fields: noFlag("fields"),
  ...VALIDATE,
} satisfies Options;

const SINGLE_REQUEST = { prompt: noFlag("text"), ...DEFAULTS } satisfies Options;

/** Every option of every call of the package. */
export const CALLS = {
  createClient: {
    /** The service's base URL. Default: IMGGEN_BASE_URL, else what `imggen login` has stored. */
    baseUrl: noFlag("text"),
    /** Default: IMGGEN_API_KEY, else what `imggen login` has stored. */
    apiKey: noFlag("text"),
    /** Uses the embedded sandbox in place of a service: free, and without an account. Default false. */
    sandbox: noFlag("flag"),
    /**
     * Uses your own generator in place of a service: `openai`, a URL, `sdapi:<url>`, `comfyui:<url>`, `replicate`, `fal`, `bfl`,
     * `gemini`, `npm:<package>` or `command:<command line>`. Default:
     * IMGGEN_GENERATOR, else the setting `generator`.
     */
    generator: noFlag("text"),
    /** Its key, or `user:password`. Default: IMGGEN_GENERATOR_KEY, else what `imggen login --generator` has stored for it. */
    generatorKey: noFlag("text"),
    /** Its model, where a request names none. */
    generatorModel: noFlag("text"),
    /** How many requests it gets at once, over all processes. Default 1. */
    generatorConcurrency: noFlag("whole"),
    /** How long one image may take, milliseconds. Default 600,000. */
    generatorTimeoutMs: noFlag("duration"),
    /** A ComfyUI workflow for each request: a file of Export (API), or a PNG that ComfyUI saved. Default: the setting `workflow`. */
    workflow: noFlag("path"),
    /** Whether its images cost money, so that no request is sent twice. Default: as its address says. */
    generatorPaid: noFlag("flag"),
    /** The folder of settings, ledger and sandbox. Default: IMGGEN_HOME, else the platform's own places. */
    home: noFlag("path"),
    /** A JSON file that adds or changes models. Default: IMGGEN_MATRIX, else the setting `matrix`; else none. */
    matrix: noFlag("path"),
    /** Ends a submit (default 120 s), a poll (15 s) or an idle download (30 s), milliseconds. */
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

/** Checks the options of a call at run time, for callers without types. @throws UsageError naming call and option */
export function checkOptions(call: keyof typeof CALLS, options: unknown): void {
  if (typeof options !== "object" || options === null)
    throw new UsageError(`${call}: its options are not an object.`);
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
