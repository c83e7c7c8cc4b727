import { BIN_EDGES_MS, BINS, type Bin, lengthMs, middleMs } from "./ages.ts";
import type { Shares } from "./estimate.ts";
import { interpolate } from "./interpolate.ts";

/** How many looks are due by each of EDGES_MS, fractions of them included: a line that gains one with every look. */
export type Plan = readonly number[];

const SHORTEST_GAP_MS = 150;
const LONGEST_GAP_MS = 15_000;
/** What is kept for tasks that are later than all before them, as a part of all. */
const RESERVE = 0.05;
/** The reference client looks this often (section 4.2), and how many looks are worth it here for one of its. */
const REFERENCE_GAP_MS = 3_000;
const LOOKS_FOR_ONE = 1.45;
/** Tasks that take less than a few seconds may have this many on the mean, be the reference client's ever so few. */
const FEW_LOOKS = 2.3;
/** No window of this length has more looks than this, so that one at once and one at the end can come on top. */
const WINDOW_MS = 180_000;
const MOST_IN_WINDOW = 58;
const HALVINGS = 10;

/**
 * The plan that sees tasks complete the soonest for its number of looks. Looks every g ms cost 1/g looks per ms
 * that a task is running and show a completion g/2 late, so the sum is least where 1/g goes with the square
 * root of the hazard: of how likely a task that is still running is to complete now.
 *
 * @param estimate How long tasks take: what the mean number of looks is reckoned with.
 * @param forecast How long this one may take: what the looks are laid out for.
 */
export function planPolls(estimate: Shares, forecast: Shares): Plan {
  const hazards = rootHazards(forecast);
  const highest = Math.max(...hazards);
  const reference = meanLooks(estimate, (stretch) => middleMs(stretch) / REFERENCE_GAP_MS);
  const most = Math.max(FEW_LOOKS, LOOKS_FOR_ONE * reference);
  const planAt = (peak: number) => rise(hazards.map((hazard) => (hazard / highest) * peak));
  let [low, high] = [1 / LONGEST_GAP_MS, 1 / SHORTEST_GAP_MS];
  for (let round = 0; round < HALVINGS; round++) {
    const peak = Math.sqrt(low * high);
    if (isModest(planAt(peak), estimate, most)) low = peak;
    else high = peak;
  }
  return planAt(low);
}

function rootHazards(forecast: Shares): number[] {
  let running = 1;
  return BINS.map((stretch, index) => {
    const share = forecast[index] ?? 0;
    running -= share;
    return Math.sqrt(share / lengthMs(stretch) / (running + share / 2 + RESERVE));
  });
}

/** The line with these slopes, looks per millisecond, where they are neither too steep nor too flat. */
function rise(slopes: readonly number[]): Plan {
  let looks = 0;
  const rises = BINS.map((stretch, index) => {
    const slope = Math.min(1 / SHORTEST_GAP_MS, Math.max(1 / LONGEST_GAP_MS, slopes[index] ?? 0));
    looks += slope * lengthMs(stretch);
    return looks;
  });
  return [0, ...rises];
}

/** Whether a plan has no more looks than are allowed, on the mean and in any window. */
function isModest(plan: Plan, estimate: Shares, mostOnTheMean: number): boolean {
  const plannedIn = (index: number) => ((plan[index] ?? 0) + (plan[index + 1] ?? 0)) / 2;
  const looks = meanLooks(estimate, (_, index) => plannedIn(index));
  if (looks > mostOnTheMean) return false;
  return BIN_EDGES_MS.every(
    (ageMs, index) =>
      interpolate(BIN_EDGES_MS, plan, ageMs + WINDOW_MS) - (plan[index] ?? 0) <= MOST_IN_WINDOW - 1,
  );
}

/** The mean number of looks at a task: those due when it completes, and on the mean half a look until it is seen. */
function meanLooks(estimate: Shares, due: (stretch: Bin, index: number) => number): number {
  return BINS.reduce((sum, stretch, index) => sum + (estimate[index] ?? 0) * due(stretch, index), 1 / 2);
}
