import { joinFirst } from "../lib/short-text.ts";
import { action, option, phrase, type Wording } from "../lib/wording.ts";
import { canonicalQuality, type Matrix, MODELS, type Model } from "./matrix.ts";

export interface Cost {
  /** `null` if the service's document gives no price. */
  credits: number | null;
  /** Whether the document does not settle the price, and `credits` is the lowest possible one. */
  estimate: boolean;
}

/**
 * The price of one request in credits if section 8 of the service's document settles it; else `null`. A model with a
 * single price has it for every quality.
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

/** The same models at no cost, as the embedded sandbox makes their images. */
export function freeOfCharge(matrix: Matrix): Matrix {
  return matrix.map((model) => ({ ...model, credits: { default: 0 } }));
}

/** The highest documented price of a request, in credits. What a request of undocumented cost is counted as. */
export function highestCost(matrix: Matrix): number {
  const costs = matrix.flatMap(({ credits }) => (credits === null ? [] : Object.values(credits)));
  // A matrix of a generator may have no prices at all, and its images may cost as much as a service's.
  return costs.length > 0 ? Math.max(...costs) : highestCost(MODELS);
}

/** What one request to a model costs: `2 to 8 credits`; null if that is not documented. */
export function costRange({ credits }: Model): string | null {
  if (credits === null) return null;
  const [least, most] = [Math.min(...Object.values(credits)), Math.max(...Object.values(credits))];
  return least === most ? `${least} credits` : `${least} to ${most} credits`;
}

const MAX_NAMED = 6;

/**
 * What to do about a request whose cost no cap can count.
 * @param otherwise how to submit it all the same, as a sentence
 */
export function countableInstead(matrix: Matrix, otherwise: Wording): Wording {
  const named = matrix.flatMap((model) => {
    const cost = costRange(model);
    return cost === null ? [] : [`${model.id} (${cost})`];
  });
  // Of the user's own generator only the user can say what it costs.
  if (named.length === 0)
    return [
      otherwise,
      phrase`Or give its price with ${option("generatorPrice")} 4.`,
      phrase`\nTo give its price, in credits per image, for all requests: ${action("run", "config set price 4")}`,
    ];
  return [
    "Choose a model with a documented cost.",
    otherwise,
    `\nDocumented costs: ${joinFirst(named, MAX_NAMED)}.`,
  ];
}
