import { type Matrix, MODELS } from "../models/matrix.ts";
import { readMatrix } from "../models/matrix-file/read.ts";
import type { Effective, EffectiveSettings } from "./effective-settings.ts";
import type { ProcessContext } from "./this-process.ts";

/** What the models of a run depend on. */
export interface MatrixSource {
  context: Pick<ProcessContext, "resolvePath">;
  settings: Pick<EffectiveSettings, "matrixFile">;
  /** The profile that the settings are of; null for those without a name. */
  profile?: { name: string } | null;
}

/** The models that apply: the built-in ones, changed by the matrix file if there is one. @throws UsageError, SettingsError */
export function matrixInEffect({ settings, context, profile = null }: MatrixSource): Matrix {
  const setting = settings.matrixFile();
  if (setting === undefined) return MODELS;
  const advice = `${MATRIX_FORM}\n${withoutMatrixFile(setting, profile)}`;
  return readMatrix(context.resolvePath(setting.value), advice);
}

/** How to do without a matrix file, as a sentence. */
export function withoutMatrixFile(
  { source, label }: Pick<Effective, "source" | "label">,
  profile: { name: string } | null,
): string {
  const ofProfile = profile === null ? "" : ` --profile ${profile.name}`;
  const how = source === "config" ? `run imggen config unset matrix${ofProfile}` : `unset ${label}`;
  return `To use the built-in models alone, ${how}.`;
}

/** What to do where a matrix file is wrong, wherever it was named. */
export const MATRIX_FORM = "Nothing was sent. File format: imggen help json";
