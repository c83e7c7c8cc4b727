import fc from "fast-check";
import { addToCount } from "./count.ts";

/** How many cases every property is tried with, unless each one needs a disk. */
const CASES = 20_000;

/** The part of these that is tried: `npm run test:unit` tries fewer. */
const SHARE = Number(process.env.IMGGEN_TEST_SHARE ?? 1);

/** Whether this is `npm run crash`, which has the time to try everything. */
export const isLongRun = SHARE === 1;

/** A number of cases, runs or rows of which a quick run does only a part. */
export const share = (count: number): number => Math.ceil(count * SHARE);

/** Every n-th of what a quick run tries only a part of. */
export const everyNth = <Item>(items: readonly Item[], nth: number): Item[] =>
  items.filter((_, at) => isLongRun || at % nth === 0);

/** Proves a property by trying it on many cases. A failure is shrunk and shown with its seed. */
export function holds<Case>(property: fc.IProperty<Case>, cases = CASES): void {
  fc.assert(property, { numRuns: share(cases) });
  addToCount("cases", share(cases));
}

/** As `holds`, for properties that have to wait. */
export async function holdsInTime<Case>(property: fc.IAsyncProperty<Case>, cases = CASES): Promise<void> {
  await fc.assert(property, { numRuns: share(cases) });
  addToCount("cases", share(cases));
}
