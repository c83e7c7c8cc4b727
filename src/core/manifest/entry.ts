import type { RequestDraft } from "../../task/request.ts";

/**
 * What a row of a manifest sets. What it leaves out is absent, so that the batch's defaults apply; whether the model
 * takes it is for the rules to say. An empty list of images, which only JSON can say, asks for none in spite of a
 * default.
 */
export interface RowValues extends RequestDraft {
  /** Name below the output folder, which it cannot leave. */
  output?: string;
}

export interface ManifestRow {
  /** 1 for the first good row; where nothing is wrong, every row is a good one. */
  row: number;
  /** Where the row starts; the manifest's first line is 1. */
  line: number;
  values: RowValues;
}

/** What a manifest holds, in its own order. Problems are in words, without their line and without a full stop. */
export type ManifestEntry =
  | { kind: "row"; row: ManifestRow }
  | { kind: "problem"; line: number; message: string };

/** What one place in a manifest comes to, before rows are counted. */
export type Found = { line: number; values: RowValues } | LineProblem;

export interface LineProblem {
  line: number;
  message: string;
}
