/** A stream of numbers that is the same for the same seed, on every machine. */
export interface Random {
  /** The next number, at least 0 and below 1. */
  next(): number;
  between(low: number, high: number): number;
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
}

export function seededRandom(seed: string): Random {
  const next = generator(hash(seed, 0x811c9dc5), hash(seed, 0x9e3779b9));
  const between = (low: number, high: number) => low + (high - low) * next();
  return {
    next,
    between,
    integer: (low, high) => Math.floor(between(low, high + 1)),
    chance: (probability) => next() < probability,
    pick: (items) => items[Math.floor(next() * items.length)] ?? items[0],
  };
}

/** FNV-1a over UTF-16 units, so that lone surrogates count as well. */
function hash(text: string, basis: number): number {
  let state = basis;
  for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
  return mixed(state);
}

function mixed(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return (twice ^ (twice >>> 16)) >>> 0;
}

function generator(first: number, second: number): () => number {
  let state = first;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    return mixed(state ^ second) / 0x1_0000_0000;
  };
}
