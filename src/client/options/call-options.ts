import type { CALLS } from "./call-table.ts";
import type { ValuesOf } from "./option.ts";

// The build publishes each type as an interface, with the docstrings of the tables' rows.

type Calls = typeof CALLS;

/** Account, generator and home of a client. Options that are not set have the defaults of the command line. */
export type ClientOptions = ValuesOf<Calls["createClient"]>;

/** Options of every call. */
export type CallOptions = Pick<ValuesOf<Calls["generate"]>, "signal" | "onProgress">;

/** Fields of a request. The service or generator chooses those that are not set. */
export type RequestOptions = WithPrompt<ValuesOf<Calls["estimate"]>>;

type WithPrompt<Options extends { prompt?: string | undefined }> = { prompt: string } & Omit<
  Options,
  "prompt"
>;

/** Destination of images. */
export type OutputOptions = Pick<GenerateOptions, "output" | "name" | "overwrite">;

export type GenerateOptions = WithPrompt<ValuesOf<Calls["generate"]>>;

/** A request, limits for the wait, and a file to copy the image to. An `output` that is a folder has no effect. */
export type ReuseOptions = WithPrompt<ValuesOf<Calls["reuse"]>>;

/** One row of a batch. Its values override the batch's values. `output` is a name below the batch's folder. */
export type BatchRowOptions = Omit<RequestOptions, "validate"> & Pick<GenerateOptions, "output">;

export type BatchOptions = ValuesOf<Calls["batch"]>;

export type StatusOptions = ValuesOf<Calls["status"]>;

export type ResumeOptions = ValuesOf<Calls["resume"]>;

export type CancelOptions = ValuesOf<Calls["cancel"]>;

/** Filter of tasks. An absent option matches every task. */
export type HistoryOptions = ValuesOf<Calls["history"]>;
