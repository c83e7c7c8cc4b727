import { ImggenError, UsageError } from "../lib/error-types.ts";
import { findModels, KIND_WORDS, type ModelFilter, resolveModel, unknownModelText } from "../models/find.ts";
import { MAX_IMAGES, type Matrix, type Model, NEEDS_SUBSCRIPTION } from "../models/matrix.ts";
import { unknownQuality } from "../models/rules/quality.ts";
import { malformedRatio } from "../models/rules/ratio.ts";
import { FLAG_LABELS, throwRefusal } from "../models/rules/rule.ts";
import type { ClientSession } from "./client-session.ts";
import type { MODEL_FILTER } from "./options/command-table.ts";
import type { FlagsOf } from "./options/option.ts";
import type { Target } from "./targets/target.ts";
import { targetInEffect } from "./targets/target-in-effect.ts";

export interface ModelList {
  models: readonly Model[];
  model: Model | null;
  /** Ids of models that the generator lists, but the matrix does not contain. */
  names: ReadonlySet<string>;
  undocumented: readonly string[];
  loaded: string | null;
  hasNone: boolean;
  leftOut: string | null;
}

/** Default number of images, for models that can make several images. */
export const DEFAULT_IMAGES = MAX_IMAGES.default;

export function needsSubscription({ notes }: Pick<Model, "notes">): boolean {
  return notes.includes(NEEDS_SUBSCRIPTION);
}

/** @throws ImggenError, UsageError for an unknown model, ratio or quality */
export async function listModels(
  session: ClientSession,
  name: string | undefined,
  filter: FlagsOf<typeof MODEL_FILTER>,
): Promise<ModelList> {
  const target = await targetInEffect(session);
  const fromMatrix = await target.matrix();
  const { others, loaded, leftOut } = await findUnlistedModels(target, fromMatrix);
  const matrix = [...fromMatrix, ...others];
  const problem = name === undefined ? null : unknownModelText(name, matrix);
  if (problem !== null) throw new UsageError(problem, { hint: "To see all models: imggen models" });
  const model = (name !== undefined && resolveModel(name, matrix)) || null;
  const { aliasOf: _, ...modelWithoutAlias } = model ?? {};
  const { matching, undocumented } = findModels(
    parseFilter(filter),
    model ? [modelWithoutAlias as Model] : matrix,
  );
  return {
    models: matching,
    model,
    names: new Set(others.map(({ id }) => id)),
    undocumented: model ? [] : undocumented.map(({ id }) => id),
    loaded: name === undefined ? loaded : null,
    hasNone: target.kind !== "service" && matrix.length === 0,
    leftOut,
  };
}

interface UnlistedModels {
  others: readonly Model[];
  loaded: string | null;
  leftOut: string | null;
}

async function findUnlistedModels(target: Target, fromMatrix: Matrix): Promise<UnlistedModels> {
  let leftOut: string | null = null;
  const offeredModels = await target.models().catch((error: unknown) => {
    if (!(error instanceof ImggenError) || fromMatrix.length === 0) throw error;
    leftOut = error.message;
    return null;
  });
  if (offeredModels === null) return { others: [], loaded: null, leftOut };
  const { undocumentedModel } = await import("../models/check-request.ts");
  const names = (offeredModels.names ?? []).filter((name) => !fromMatrix.some(({ id }) => id === name));
  return { others: names.map(undocumentedModel), loaded: offeredModels.loaded, leftOut };
}

/** Accepts any well-formed ratio, because a model without documented ratios might support it. @throws UsageError */
function parseFilter({ kind, ratio, quality, references }: FlagsOf<typeof MODEL_FILTER>): ModelFilter {
  if (ratio !== undefined) throwRefusal(malformedRatio(ratio, FLAG_LABELS.ratio));
  if (quality !== undefined) throwRefusal(unknownQuality(quality, FLAG_LABELS.quality));
  return { kind: kind === undefined ? undefined : KIND_WORDS.get(kind), ratio, quality, references };
}
