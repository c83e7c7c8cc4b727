/** When to poll if the exact distribution of the durations were known: what no schedule can beat. */

const STEPS = 2000;
const HALVINGS = 30;

export interface Best {
  /** Mean delay from a completion to the poll that sees it, milliseconds. */
  delayMs: number;
  polls: number;
}

/**
 * The least mean delay for that mean number of polls, by dynamic programming: the best next poll after one at
 * any age is the one for which its delay, its price and the best of all that follows add up to the least. The
 * price is found by halving.
 *
 * @param density The share of tasks that complete per millisecond of their age.
 * @param untilMs When all of them have completed.
 */
export function bestSchedule(density: (ageMs: number) => number, untilMs: number, polls: number): Best {
  const stepMs = untilMs / STEPS;
  const done = accumulate((index) => density((index - 0.5) * stepMs) * stepMs);
  const waited = accumulate((index) => ((at(done, index - 1) + at(done, index)) / 2) * stepMs);
  /** The mean time from a completion between two polls to the second of them, all tasks counted. */
  const delayMs = (from: number, to: number) =>
    at(waited, to) - at(waited, from) - at(done, from) * (to - from) * stepMs;
  let [low, high] = [1e-2, untilMs];
  for (let round = 0; round < HALVINGS; round++) {
    const price = Math.sqrt(low * high);
    if (follow(nextLooks(done, delayMs, price), done, delayMs).polls > polls) low = price;
    else high = price;
  }
  return follow(nextLooks(done, delayMs, high), done, delayMs);
}

function accumulate(part: (index: number) => number): Float64Array {
  const sums = new Float64Array(STEPS + 1);
  for (let index = 1; index <= STEPS; index++) sums[index] = at(sums, index - 1) + part(index);
  return sums;
}

type Delay = (from: number, to: number) => number;

/** For a poll at each step, the step of the best next one. */
function nextLooks(done: Float64Array, delayMs: Delay, price: number): Int32Array {
  const costs = new Float64Array(STEPS + 1);
  const next = new Int32Array(STEPS + 1).fill(STEPS);
  for (let from = STEPS - 1; from >= 0; from--) {
    let least = Number.POSITIVE_INFINITY;
    // The later a poll, the later the best one after it.
    for (let to = from + 1; to <= at(next, from + 1); to++) {
      const cost = delayMs(from, to) + at(costs, to);
      if (cost < least) next[from] = to;
      least = Math.min(least, cost);
    }
    costs[from] = least + price * (1 - at(done, from));
  }
  return next;
}

function follow(next: Int32Array, done: Float64Array, delayMs: Delay): Best {
  const best = { delayMs: 0, polls: 0 };
  for (let from = 0; from < STEPS; from = at(next, from)) {
    best.delayMs += delayMs(from, at(next, from));
    best.polls += 1 - at(done, from);
  }
  return best;
}

function at(values: Float64Array | Int32Array, index: number): number {
  return values[index] ?? 0;
}
