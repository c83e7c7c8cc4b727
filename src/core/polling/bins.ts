/** A part of a task's life, milliseconds from its acceptance. */
export interface Bin {
  readonly fromMs: number;
  readonly toMs: number;
}

/** The logarithm of the factor by which each bin is longer than the one before it. */
const LOG_STEP = 0.03;
/** The age at which the last bin ends. */
export const OLDEST_MS = 1_800_000;

const YOUNGEST_MS = 250;
const COUNT = Math.ceil(Math.log(OLDEST_MS / YOUNGEST_MS) / LOG_STEP);

/**
 * The ages between bins. Each bin is 3 % longer than the one before it, because durations differ by factors, not by
 * seconds. The first bin begins at the acceptance.
 */
export const BIN_EDGES_MS: readonly number[] = Array.from({ length: COUNT + 1 }, (_, index) =>
  index === 0 ? 0 : YOUNGEST_MS * Math.exp(index * LOG_STEP),
);

export const BINS: readonly Bin[] = BIN_EDGES_MS.slice(1).map((toMs, index) => ({
  fromMs: BIN_EDGES_MS[index] ?? 0,
  toMs,
}));

export function lengthMs({ fromMs, toMs }: Bin): number {
  return toMs - fromMs;
}

export function middleMs({ fromMs, toMs }: Bin): number {
  return (fromMs + toMs) / 2;
}
