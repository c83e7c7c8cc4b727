import { type Matrix, MODELS } from "../models/matrix.ts";
import { readMatrix } from "../models/matrix-file/read.ts";
import type { EffectiveSettings } from "./effective-settings.ts";
import type { ProcessContext } from "./this-process.ts";

/** What the models of a run depend on. */
export interface MatrixSource extends Pick<ProcessContext, "resolvePath"> {
  settings: Pick<EffectiveSettings, "matrixFile">;
}

/** The models that apply: the built-in ones, changed by the matrix file if there is one. @throws UsageError, SettingsError */
export function matrixInEffect({ settings, resolvePath }: MatrixSource): Matrix {
  const setting = settings.matrixFile();
  if (setting === undefined) return MODELS;
  const { source, value, label } = setting;
  const without = source === "config" ? "run imggen config unset matrix" : `unset ${label}`;
  return readMatrix(resolvePath(value), `${MATRIX_FORM}\nTo use the built-in models alone, ${without}.`);
}

/** What to do where a matrix file is wrong, wherever it was named. */
export const MATRIX_FORM = "Nothing was sent. Its form: imggen help json";
