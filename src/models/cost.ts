import { joinFirst } from "../lib/short-text.ts";
import { action, option, phrase, type Wording } from "../lib/wording.ts";
import { canonicalQuality, type Matrix, MODELS, type Model } from "./matrix.ts";

export interface Cost {
  /** `null` if the service's document gives no price. */
  credits: number | null;
  /** Whether the price is not documented and `credits` is the lowest possible one. */
  estimate: boolean;
}

/**
 * The documented price of one request (section 8), in credits; else `null`. A model's single price applies to every
 * quality.
 */
export function documentedCost({ credits }: Model, quality: string | undefined): number | null {
  if (credits === null) return null;
  const { default: plain, ...byQuality } = credits;
  if (quality === undefined || Object.keys(byQuality).length === 0) return plain ?? null;
  const canonical = canonicalQuality(quality);
  return canonical === undefined ? null : (byQuality[canonical] ?? null);
}

/** The documented price; for a priced model without a quality or a default one, its lowest price. */
export function estimateCost(model: Model, quality: string | undefined): Cost {
  const credits = documentedCost(model, quality);
  if (credits !== null || quality !== undefined || model.credits === null)
    return { credits, estimate: false };
  return { credits: Math.min(...Object.values(model.credits)), estimate: true };
}

/** The same models without cost, for the embedded sandbox. */
export function freeOfCharge(matrix: Matrix): Matrix {
  return matrix.map((model) => ({ ...model, credits: { default: 0 } }));
}

/** The highest documented price of a request, in credits; requests of unknown cost count as this much. */
export function highestCost(matrix: Matrix): number {
  const costs = matrix.flatMap(({ credits }) => (credits === null ? [] : Object.values(credits)));
  // A generator's matrix may have no prices, although its images may cost as much as the service's.
  return costs.length > 0 ? Math.max(...costs) : highestCost(MODELS);
}

/** Cost of one request: `2 to 8 credits`; null if not documented. */
export function costRange({ credits }: Model): string | null {
  if (credits === null) return null;
  const [min, max] = [Math.min(...Object.values(credits)), Math.max(...Object.values(credits))];
  return min === max ? `${min} credits` : `${min} to ${max} credits`;
}

const MAX_LISTED = 6;

/**
 * Advice for a request whose cost no cap can count.
 * @param otherwise how to submit it nevertheless, as a sentence
 */
export function unknownCostHint(matrix: Matrix, otherwise: Wording): Wording {
  const pricedModels = matrix.flatMap((model) => {
    const cost = costRange(model);
    return cost === null ? [] : [`${model.id} (${cost})`];
  });
  // Only the user knows the price of their generator.
  if (pricedModels.length === 0)
    return [
      otherwise,
      phrase`Or give its price with ${option("generatorPrice")} 4.`,
      phrase`\nTo give its price, in credits per image, for all requests to the generator in the config: ${action("run", "config set price 4")}`,
    ];
  return [
    "Choose a model with a documented cost.",
    otherwise,
    `\nDocumented costs: ${joinFirst(pricedModels, MAX_LISTED)}.`,
  ];
}
