import { NoHomeError } from "../../lib/home-folder.ts";
import { type Matrix, MODELS } from "../../models/matrix.ts";
import type { MatrixSource } from "./matrix-setting.ts";

/**
 * The models of the service, and of the sandbox: the built-in ones, changed by the matrix file. What reads that is loaded only
 * if there is one. @throws UsageError, SettingsError
 */
export async function serviceMatrix(source: MatrixSource): Promise<Matrix> {
  if (!hasFile(source)) return MODELS;
  const { serviceModels } = await import("./matrix-setting.ts");
  return serviceModels(source);
}

/** Without a home folder none is stored, and what only shows models needs none. */
function hasFile({ settings }: MatrixSource): boolean {
  try {
    return settings.get("matrix") !== undefined;
  } catch (error) {
    if (error instanceof NoHomeError) return false;
    throw error;
  }
}
