import { editDistance } from "../lib/edit-distance.ts";
import { canonicalQuality, type Kind, MAX_ID_LENGTH, type Matrix, type Model } from "./matrix.ts";

/** The filters of `imggen models`; an absent field filters nothing. */
export interface ModelFilter {
  kind?: Kind | undefined;
  ratio?: string | undefined;
  /** A quality in any case. */
  quality?: string | undefined;
  /** Number of reference images. */
  references?: number | undefined;
}

/** Finds a model by name: its exact id, else the id in any case, else the unique part after the slash (`alpha-2`). */
export function resolveModel(name: string, matrix: Matrix): Model | undefined {
  const lower = name.toLowerCase();
  const tails = matrix.filter((model) => tail(model.id.toLowerCase()) === lower);
  return (
    matrix.find((model) => model.id === name) ??
    matrix.find((model) => model.id.toLowerCase() === lower) ??
    (tails.length === 1 ? tails[0] : undefined)
  );
}

/**
 * The ids near to an unknown name, best first, if there are any: those that contain it, then by the edit distance to a
 * part of the id (`gama`: `gamma-image-2`), then by the edit distance to the whole id.
 */
export function nearestModels(name: string, matrix: Matrix, count = 3): string[] {
  // Limits the comparisons of a long text pasted by mistake.
  const query = name.toLowerCase().slice(0, MAX_ID_LENGTH);
  if (query.trim() === "") return [];
  const maxDistance = Math.max(2, Math.floor(query.length / 3));
  return matrix
    .map(({ id }) => ({ id, ...likeness(query, id.toLowerCase()) }))
    .filter(({ id, partDistance }) => partDistance <= maxDistance || query.includes(tail(id.toLowerCase())))
    .sort((a, b) => a.rank - b.rank || a.partDistance - b.partDistance || a.distance - b.distance)
    .slice(0, count)
    .map(({ id }) => id);
}

/** `the nearest is z-image`; empty if none is near. */
export function nearestText(name: string, matrix: Matrix): string {
  const near = nearestModels(name, matrix);
  if (near.length === 0) return "";
  return near.length === 1 ? `the nearest is ${near[0]}` : `the nearest are ${near.join(", ")}`;
}

/** A sentence about an unknown name; null if a model has it. */
export function unknownModelText(name: string, matrix: Matrix): string | null {
  if (resolveModel(name, matrix)) return null;
  const nearest = nearestText(name, matrix);
  return `There is no model ${JSON.stringify(name)}${nearest && `; ${nearest}`}.`;
}

/**
 * The models that are documented to match a filter, and those that may match because something is not documented.
 * Both in the matrix's order, without aliases.
 */
export function findModels(
  filter: ModelFilter,
  matrix: Matrix,
): { matching: Model[]; undocumented: Model[] } {
  const matching: Model[] = [];
  const undocumented: Model[] = [];
  for (const model of matrix) {
    const verdicts = answers(model, filter);
    if (model.aliasOf !== undefined || verdicts.includes(false)) continue;
    (verdicts.includes(null) ? undocumented : matching).push(model);
  }
  return { matching, undocumented };
}

/** One verdict for each filter that is set; `null`: not documented. */
function answers(model: Model, { kind, ratio, quality, references }: ModelFilter): (boolean | null)[] {
  return [
    kind === undefined || (model.kinds?.includes(kind) ?? null),
    ratio === undefined || (model.ratios?.includes(ratio) ?? null),
    quality === undefined || takesQuality(model, quality),
    references === undefined || takesReferences(model, references),
  ];
}

function takesQuality(model: Model, value: string): boolean | null {
  const quality = canonicalQuality(value);
  if (quality === undefined) return false;
  return model.qualities?.includes(quality) ?? null;
}

function takesReferences({ references }: Model, count: number): boolean | null {
  if (references === null) return null;
  return count >= references.min && count <= (references.max ?? Number.POSITIVE_INFINITY);
}

interface Likeness {
  rank: number;
  /** Edit distance to the nearest part of the id, or to the whole. */
  partDistance: number;
  distance: number;
}

function likeness(name: string, id: string): Likeness {
  const forms = [id, tail(id)];
  const distance = Math.min(...forms.map((form) => editDistance(name, form)));
  if (forms.some((form) => form.startsWith(name))) return { rank: 0, partDistance: 0, distance };
  if (forms.some((form) => form.includes(name))) return { rank: 1, partDistance: 0, distance };
  const partDistance = Math.min(distance, ...partsLike(name, id).map((part) => editDistance(name, part)));
  return { rank: 2, partDistance, distance };
}

const ID_PARTS = /[^/-]+/g;

/** The parts of an id that have as many words as a name: of `vendor1/alpha-2` and two words, `vendor1/alpha` and `alpha-2`. */
function partsLike(name: string, id: string): string[] {
  const count = name.match(ID_PARTS)?.length ?? 1;
  const parts = [...id.matchAll(ID_PARTS)];
  return parts.flatMap(({ index }, first) => {
    const last = parts[first + count - 1];
    return last === undefined ? [] : [id.slice(index, last.index + last[0].length)];
  });
}

function tail(id: string): string {
  return id.slice(id.lastIndexOf("/") + 1);
}

/** Kinds by the words of users and of the service. */
export const KIND_WORDS: ReadonlyMap<string, Kind> = new Map([
  ["text", "text-to-image"],
  ["text-to-image", "text-to-image"],
  ["edit", "edit"],
  ["image-to-image", "edit"],
]);
