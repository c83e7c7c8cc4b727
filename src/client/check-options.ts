import { UsageError } from "../lib/error-types.ts";
import { seedIn } from "../lib/exact-integer.ts";
import { type FieldForm, isProviderFields, REQUEST_FIELDS } from "../task/request-fields.ts";
import type {
  BatchOptions,
  CancelOptions,
  ClientOptions,
  GenerateOptions,
  HistoryOptions,
  RequestOptions,
  ResumeOptions,
  ReuseOptions,
  StatusOptions,
} from "./options/call-options.ts";

/** What a value must be. */
type Kind = FieldForm | "path" | "flag" | "function" | "signal";

const CALL = { signal: "signal", onProgress: "function" } as const;
const WAIT = { ...CALL, timeoutMs: "number", pollIntervalMs: "number" } as const;
const OUTPUT = { output: "path", name: "text", overwrite: "flag" } as const;
const REQUEST = { ...REQUEST_FIELDS, validate: "flag" } as const;

/** Every option of every call. */
export const OPTIONS = {
  createClient: {
    baseUrl: "text",
    apiKey: "text",
    sandbox: "flag",
    generator: "text",
    generatorKey: "text",
    generatorModel: "text",
    generatorConcurrency: "number",
    generatorTimeoutMs: "number",
    workflow: "path",
    generatorPaid: "flag",
    home: "path",
    matrix: "path",
    requestTimeoutMs: "number",
  },
  estimate: REQUEST,
  generate: {
    ...REQUEST,
    ...OUTPUT,
    ...WAIT,
    wait: "flag",
    maxCredits: "number",
    reuse: "flag",
    again: "flag",
  },
  batch: {
    ...REQUEST,
    ...OUTPUT,
    ...WAIT,
    concurrency: "number",
    maxCredits: "number",
    yes: "flag",
    resubmitUnknown: "flag",
    retryFailed: "flag",
  },
  reuse: { ...REQUEST, ...WAIT, output: "path", overwrite: "flag" },
  history: {
    signal: "signal",
    limit: "number",
    search: "text",
    status: "text",
    model: "text",
    since: "text",
  },
  status: { ...OUTPUT, ...WAIT, wait: "flag", yes: "flag" },
  cancel: { ...WAIT, wait: "flag", yes: "flag" },
  resume: { output: "path", overwrite: "flag", ...WAIT, yes: "flag" },
} as const satisfies {
  createClient: Kinds<ClientOptions>;
  estimate: Kinds<RequestOptions>;
  generate: Kinds<GenerateOptions>;
  batch: Kinds<BatchOptions & { prompt?: never }>;
  reuse: Kinds<ReuseOptions>;
  history: Kinds<HistoryOptions>;
  status: Kinds<StatusOptions>;
  resume: Kinds<ResumeOptions>;
  cancel: Kinds<CancelOptions>;
};

type Kinds<Options> = { [Name in keyof Required<Options>]: Kind };

const IS: Readonly<Record<Kind, { test: (value: unknown) => boolean; words: string }>> = {
  text: { test: (value) => typeof value === "string", words: "a string" },
  path: { test: (value) => typeof value === "string" && value !== "", words: "a path, and not empty" },
  texts: {
    test: (value) => [value].flat().every((each) => typeof each === "string"),
    words: "a string or a list of strings",
  },
  pairs: { test: isProviderFields, words: "an object that JSON can have" },
  number: { test: (value) => Number.isSafeInteger(value) && Number(value) >= 0, words: "a whole number" },
  seed: { test: (value) => seedIn(value) !== null, words: "a whole number, beyond 2^53 - 1 as text" },
  flag: { test: (value) => typeof value === "boolean", words: "true or false" },
  function: { test: (value) => typeof value === "function", words: "a function" },
  signal: { test: (value) => value instanceof AbortSignal, words: "an AbortSignal" },
};

/** Checks the options of a call at run time, for callers without types. @throws UsageError naming call and option */
export function checkOptions(call: keyof typeof OPTIONS, options: unknown): void {
  if (typeof options !== "object" || options === null)
    throw new UsageError(`${call}: its options are not an object.`);
  const kinds: Readonly<Record<string, Kind>> = OPTIONS[call];
  for (const [name, value] of Object.entries(options)) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined;
    if (kind === undefined) {
      const hint = `Options are ${Object.keys(kinds).join(", ")}.`;
      throw new UsageError(`${call}: there is no option ${JSON.stringify(name)}.`, { hint });
    }
    if (value !== undefined && !IS[kind].test(value))
      throw new UsageError(`${call}: ${name} must be ${IS[kind].words}.`);
  }
}
