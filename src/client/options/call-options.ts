import type { CALLS } from "./call-table.ts";
import type { ValuesOf } from "./option.ts";

// The build publishes each of these types as an interface with the docstrings of its rows.

type Calls = typeof CALLS;

/** Where a client finds its account and keeps its ledger. What is left out is as for the command line. */
export type ClientOptions = ValuesOf<Calls["createClient"]>;

/** What every call takes. */
export type CallOptions = Pick<ValuesOf<Calls["generate"]>, "signal" | "onProgress">;

/** The fields of a request; what is left out is left to the service. */
export type RequestOptions = WithPrompt<ValuesOf<Calls["estimate"]>>;

type WithPrompt<Options extends { prompt?: string | undefined }> = { prompt: string } & Omit<
  Options,
  "prompt"
>;

/** Where images go. */
export type OutputOptions = Pick<GenerateOptions, "output" | "name" | "overwrite">;

export type GenerateOptions = WithPrompt<ValuesOf<Calls["generate"]>>;

/** A request, how its earlier task is waited for, and the file that its image is copied to; a folder changes nothing. */
export type ReuseOptions = WithPrompt<ValuesOf<Calls["reuse"]>>;

/** One row: what it sets goes before the batch's own. `output` is a name below the batch's folder. */
export type BatchRowOptions = Omit<RequestOptions, "validate"> & Pick<GenerateOptions, "output">;

export type BatchOptions = ValuesOf<Calls["batch"]>;

export type StatusOptions = ValuesOf<Calls["status"]>;

export type ResumeOptions = ValuesOf<Calls["resume"]>;

export type CancelOptions = ValuesOf<Calls["cancel"]>;

/** Which tasks are wanted; what is left out asks nothing. */
export type HistoryOptions = ValuesOf<Calls["history"]>;
