import { action, phrase, type Wording } from "../../lib/wording.ts";
import { type Matrix, MODELS } from "../../models/matrix.ts";
import { type MatrixBase, readMatrix } from "../../models/matrix-file/read-matrix.ts";
import { knownModels } from "../../providers/kinds.ts";
import { parseGeneratorSpec } from "../../providers/spec.ts";
import type { EffectiveSettings } from "../effective-settings.ts";
import type { ProcessContext } from "../this-process.ts";

export interface MatrixSource {
  context: Pick<ProcessContext, "resolvePath">;
  settings: Pick<EffectiveSettings, "get" | "generator">;
  /** Selected profile, or null for the default settings. */
  readonly profile?: { name: string } | null;
}

/** Returns the known models. A generator might have further models. @throws UsageError, SettingsError */
export function modelsInEffect(source: MatrixSource): Matrix {
  const generator = source.settings.generator();
  if (generator === undefined) return serviceModels(source);
  const builtIn = knownModels(parseGeneratorSpec(generator.value, generator.label));
  return mergeMatrixFile(source, { builtIn, newModelDefaults: { promptLimit: null } });
}

/** @throws UsageError, SettingsError */
export function serviceModels(source: MatrixSource): Matrix {
  return mergeMatrixFile(source, { builtIn: MODELS, newModelDefaults: {} });
}

/** Returns the models of an `imggen serve` that the matrix file describes. @throws UsageError, SettingsError */
export function serverModels(source: MatrixSource): Matrix {
  return mergeMatrixFile(source, { builtIn: [], newModelDefaults: { promptLimit: null } });
}

function mergeMatrixFile(source: MatrixSource, base: MatrixBase): Matrix {
  const setting = source.settings.get("matrix");
  if (setting === undefined) return base.builtIn;
  const { context, profile = null } = source;
  const profileFlag = profile === null ? "" : ` --profile ${profile.name}`;
  const isStored = setting.source === "config";
  const hint = isStored
    ? phrase`\nTo use the built-in models alone: ${action("run", `config unset matrix${profileFlag}`)}`
    : `\nTo use the built-in models alone, unset ${setting.label}.`;
  const advice = [MATRIX_HINT, hint];
  return readMatrix(context.resolvePath(setting.value), advice, base);
}

export const MATRIX_HINT: Wording = ["Nothing was sent.", phrase`File format: ${action("help", "matrix")}`];
