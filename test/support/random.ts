/** A stream of numbers in [0, 1) that is the same for the same seed (mulberry32). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** One of several, each as likely. */
export function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** What `npm test` draws from, so that it fails for no reason but the code. */
const FIXED_SEED = 1;

/** The seed of this run: IMGGEN_CRASH_SEED, which `npm run crash` sets to a new one, or the same as always. */
export function chosenSeed(): number {
  return Number(process.env.IMGGEN_CRASH_SEED ?? FIXED_SEED);
}
