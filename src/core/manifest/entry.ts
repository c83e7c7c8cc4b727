import type { RequestInput } from "../../task/request.ts";
import type { OtherColumns } from "./prompt-template.ts";

/**
 * The values that a row of a manifest sets. Values that it does not set are absent, and the batch's defaults apply.
 * They are not checked against the model yet. An empty list of images, possible in JSON only, overrides a default.
 */
export interface RowValues extends RequestInput {
  /** Name below the output folder, which it cannot leave. */
  output?: string;
}

export interface ManifestRow {
  /** Its columns that are not a request's own; absent if there are none. */
  others?: OtherColumns;
  /** Number among the valid rows, from 1. */
  row: number;
  /** Where the row starts; the manifest's first line is 1. */
  line: number;
  values: RowValues;
  /** Its prompt with the blanks around it that were cut; absent if there were none. */
  uncut?: string;
}

/** The content of a manifest in its order. A problem's message has neither its line number nor a full stop. */
export type ManifestEntry =
  | { kind: "row"; row: ManifestRow }
  | { kind: "problem"; line: number; message: string };

/** A row or a problem, before rows are numbered. */
export type Found = Omit<ManifestRow, "row"> | LineProblem;

export interface LineProblem {
  line: number;
  message: string;
}

/** How a manifest is read. */
export interface ReadOptions {
  /** Gives the prompt of rows that have none; null if such rows are bad. */
  template: string | null;
  /** The file name template, which may use other columns too. */
  name?: string | undefined;
}
