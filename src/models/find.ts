import { editDistance } from "../lib/edit-distance.ts";
import { canonicalQuality, type Kind, MAX_ID_LENGTH, type Matrix, type Model } from "./matrix.ts";

/** Filter of models. An absent field matches every model. */
export interface ModelFilter {
  kind?: Kind | undefined;
  ratio?: string | undefined;
  /** Quality in any letter case. */
  quality?: string | undefined;
  /** Number of reference images. */
  references?: number | undefined;
}

/** Finds a model by its id, its id in any letter case, or the part after the slash (`alpha-2`) if it is unique. */
export function resolveModel(name: string, matrix: Matrix): Model | undefined {
  const lowerName = name.toLowerCase();
  const shortMatches = matrix.filter((model) => shortName(model.id.toLowerCase()) === lowerName);
  return (
    matrix.find((model) => model.id === name) ??
    matrix.find((model) => model.id.toLowerCase() === lowerName) ??
    (shortMatches.length === 1 ? shortMatches[0] : undefined)
  );
}

/** Returns the ids most similar to an unknown name: first ids that contain the name, then ids by edit distance. */
export function nearestModels(name: string, matrix: Matrix, count = 3): string[] {
  // Compares only the first characters, because a user can paste a long text by mistake.
  const query = name.toLowerCase().slice(0, MAX_ID_LENGTH);
  if (query.trim() === "") return [];
  const maxDistance = Math.max(2, Math.floor(query.length / 3));
  return matrix
    .map(({ id }) => ({ id, ...getSimilarity(query, id.toLowerCase()) }))
    .filter(
      ({ id, partDistance }) => partDistance <= maxDistance || query.includes(shortName(id.toLowerCase())),
    )
    .sort((a, b) => a.rank - b.rank || a.partDistance - b.partDistance || a.distance - b.distance)
    .slice(0, count)
    .map(({ id }) => id);
}

export function nearestText(name: string, matrix: Matrix): string {
  const nearestIds = nearestModels(name, matrix);
  if (nearestIds.length === 0) return "";
  return nearestIds.length === 1
    ? `the nearest is ${nearestIds[0]}`
    : `the nearest are ${nearestIds.join(", ")}`;
}

export function unknownModelText(name: string, matrix: Matrix): string | null {
  if (resolveModel(name, matrix)) return null;
  const nearest = nearestText(name, matrix);
  return `There is no model ${JSON.stringify(name)}${nearest && `; ${nearest}`}.`;
}

/** Returns the models that match, and the models that might match, because a value is undocumented. */
export function findModels(
  filter: ModelFilter,
  matrix: Matrix,
): { matching: Model[]; undocumented: Model[] } {
  const matching: Model[] = [];
  const undocumented: Model[] = [];
  for (const model of matrix) {
    const verdicts = matchFilters(model, filter);
    if (model.aliasOf !== undefined || verdicts.includes(false)) continue;
    (verdicts.includes(null) ? undocumented : matching).push(model);
  }
  return { matching, undocumented };
}

/** Returns a result for each filter, or `null` if the model's value is undocumented. */
function matchFilters(model: Model, { kind, ratio, quality, references }: ModelFilter): (boolean | null)[] {
  return [
    kind === undefined || (model.kinds?.includes(kind) ?? null),
    ratio === undefined || (model.ratios?.includes(ratio) ?? null),
    quality === undefined || supportsQuality(model, quality),
    references === undefined || supportsReferences(model, references),
  ];
}

function supportsQuality(model: Model, value: string): boolean | null {
  const quality = canonicalQuality(value);
  if (quality === undefined) return false;
  return model.qualities?.includes(quality) ?? null;
}

function supportsReferences({ references }: Model, count: number): boolean | null {
  if (references === null) return null;
  return count >= references.min && count <= (references.max ?? Number.POSITIVE_INFINITY);
}

interface Similarity {
  rank: number;
  /** Smallest edit distance to the id or to a part of the id. */
  partDistance: number;
  distance: number;
}

function getSimilarity(name: string, id: string): Similarity {
  const idForms = [id, shortName(id)];
  const distance = Math.min(...idForms.map((form) => editDistance(name, form)));
  if (idForms.some((form) => form.startsWith(name))) return { rank: 0, partDistance: 0, distance };
  if (idForms.some((form) => form.includes(name))) return { rank: 1, partDistance: 0, distance };
  const partDistance = Math.min(distance, ...partsOfLength(name, id).map((part) => editDistance(name, part)));
  return { rank: 2, partDistance, distance };
}

const ID_PARTS = /[^/-]+/g;

/** Returns the parts of an id with as many words as the name, such as `vendor1/alpha` and `alpha-2` for two words. */
function partsOfLength(name: string, id: string): string[] {
  const count = name.match(ID_PARTS)?.length ?? 1;
  const parts = [...id.matchAll(ID_PARTS)];
  return parts.flatMap(({ index }, first) => {
    const last = parts[first + count - 1];
    return last === undefined ? [] : [id.slice(index, last.index + last[0].length)];
  });
}

function shortName(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

/** Kinds of models, by the names that users and the service use for them. */
export const KIND_WORDS: ReadonlyMap<string, Kind> = new Map([
  ["text", "text-to-image"],
  ["text-to-image", "text-to-image"],
  ["edit", "edit"],
  ["image-to-image", "edit"],
]);
