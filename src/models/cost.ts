import { joinFirst } from "../lib/short-text.ts";
import { action, option, phrase, type Wording } from "../lib/wording.ts";
import { canonicalQuality, type Matrix, MODELS, type Model } from "./matrix.ts";

export interface Cost {
  credits: number | null;
  /** If true, the price is undocumented and `credits` is the model's lowest price. */
  estimate: boolean;
}

/** Returns the documented price of one request in credits (section 8). A single price applies to every quality. */
export function documentedCost({ credits }: Model, quality: string | undefined): number | null {
  if (credits === null) return null;
  const { default: defaultPrice, ...byQuality } = credits;
  if (quality === undefined || Object.keys(byQuality).length === 0) return defaultPrice ?? null;
  const canonical = canonicalQuality(quality);
  return canonical === undefined ? null : (byQuality[canonical] ?? null);
}

export function estimateCost(model: Model, quality: string | undefined): Cost {
  const credits = documentedCost(model, quality);
  if (credits !== null || quality !== undefined || model.credits === null)
    return { credits, estimate: false };
  return { credits: Math.min(...Object.values(model.credits)), estimate: true };
}

export function withoutCost(matrix: Matrix): Matrix {
  return matrix.map((model) => ({ ...model, credits: { default: 0 } }));
}

/** Highest documented price of a request in credits. Budgets count a request of unknown cost at this price. */
export function highestCost(matrix: Matrix): number {
  const costs = matrix.flatMap(({ credits }) => (credits === null ? [] : Object.values(credits)));
  // If a generator's matrix has no prices, uses the service's prices, because the images can cost as much.
  return costs.length > 0 ? Math.max(...costs) : highestCost(MODELS);
}

export function formatCostRange({ credits }: Model): string | null {
  if (credits === null) return null;
  const [min, max] = [Math.min(...Object.values(credits)), Math.max(...Object.values(credits))];
  return min === max ? `${min} credits` : `${min} to ${max} credits`;
}

const MAX_LISTED = 6;

/** Returns advice for a request of unknown cost. @param allowance sentence on how to submit the request nevertheless */
export function unknownCostHint(matrix: Matrix, allowance: Wording): Wording {
  const pricedModels = matrix.flatMap((model) => {
    const cost = formatCostRange(model);
    return cost === null ? [] : [`${model.id} (${cost})`];
  });
  // Suggests a setting for the price, because only the user knows the price of their generator.
  if (pricedModels.length === 0)
    return [
      allowance,
      phrase`Or set the price of an image: ${option("generatorPrice")} 4.`,
      phrase`\nTo set the price, in credits per image, for all requests to the configured generator: ${action("run", "config set price 4")}`,
    ];
  return [
    "Choose a model with a documented cost.",
    allowance,
    `\nDocumented costs: ${joinFirst(pricedModels, MAX_LISTED)}.`,
  ];
}
