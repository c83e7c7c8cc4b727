/** A stretch of a task's life, milliseconds from its acceptance. */
export interface Bin {
  readonly fromMs: number;
  readonly toMs: number;
}

/** How much longer each stretch lasts than the one before it, as a logarithm. */
export const STEP = 0.03;
/** The age that a plan reaches to. */
export const OLDEST_MS = 1_800_000;

const YOUNGEST_MS = 250;
const COUNT = Math.ceil(Math.log(OLDEST_MS / YOUNGEST_MS) / STEP);

/**
 * Where the stretches of a task's life meet: each is longer than the one before by the same factor, for
 * durations differ by factors, not by seconds. The first starts at the acceptance.
 */
export const BIN_EDGES_MS: readonly number[] = Array.from({ length: COUNT + 1 }, (_, index) =>
  index === 0 ? 0 : YOUNGEST_MS * Math.exp(index * STEP),
);

export const BINS: readonly Bin[] = BIN_EDGES_MS.slice(1).map((toMs, index) => ({
  fromMs: BIN_EDGES_MS[index] ?? 0,
  toMs,
}));

/** The index of the stretch that an age lies in. */
export function binAt(ageMs: number): number {
  const index = Math.floor(Math.log(ageMs / YOUNGEST_MS) / STEP);
  return Math.min(Math.max(index, 0), COUNT - 1);
}

export function lengthMs({ fromMs, toMs }: Bin): number {
  return toMs - fromMs;
}

export function middleMs({ fromMs, toMs }: Bin): number {
  return (fromMs + toMs) / 2;
}
