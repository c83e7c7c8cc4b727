import { action, phrase, type Wording } from "../lib/wording.ts";
import { type Matrix, MODELS } from "../models/matrix.ts";
import { type MatrixBase, readMatrix } from "../models/matrix-file/read-matrix.ts";
import { knownModels } from "../providers/kinds.ts";
import { parseGeneratorSpec } from "../providers/spec.ts";
import type { EffectiveSettings } from "./effective-settings.ts";
import type { ProcessContext } from "./this-process.ts";

/** What the models of a run depend on. */
export interface MatrixSource {
  context: Pick<ProcessContext, "resolvePath">;
  settings: Pick<EffectiveSettings, "get" | "generator">;
  /** The profile that the settings are of; null for those without a name. */
  profile?: { name: string } | null;
}

/**
 * The models that apply: the built-in ones, changed by the matrix file if there is one. With the user's own generator
 * they are those that it is known to have; it may have others. @throws UsageError, SettingsError
 */
export function matrixInEffect(source: MatrixSource): Matrix {
  const generator = source.settings.generator();
  if (generator === undefined) return serviceMatrix(source);
  const builtIn = knownModels(parseGeneratorSpec(generator.value, generator.label));
  return withMatrixFile(source, { builtIn, added: { promptLimit: null } });
}

/** The models of the service, and of the sandbox, changed by the matrix file. @throws UsageError, SettingsError */
export function serviceMatrix(source: MatrixSource): Matrix {
  return withMatrixFile(source, { builtIn: MODELS, added: {} });
}

function withMatrixFile({ settings, context, profile = null }: MatrixSource, base: MatrixBase): Matrix {
  const setting = settings.get("matrix");
  if (setting === undefined) return base.builtIn;
  const ofProfile = profile === null ? "" : ` --profile ${profile.name}`;
  const stored = setting.source === "config";
  const how = stored
    ? phrase`\nTo use the built-in models alone: ${action("run", `config unset matrix${ofProfile}`)}`
    : `\nTo use the built-in models alone, unset ${setting.label}.`;
  const advice = [MATRIX_FORM, how];
  return readMatrix(context.resolvePath(setting.value), advice, base);
}

/** What to do where a matrix file is wrong, wherever it was named. */
export const MATRIX_FORM: Wording = ["Nothing was sent.", phrase`File format: ${action("help", "json")}`];
