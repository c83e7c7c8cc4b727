import fc from "fast-check";
import { tally } from "./tally.ts";

/** How many cases every property is tried with, unless each one needs a disk. */
const CASES = 20_000;

/** Proves a property by trying it on many cases. A failure is shrunk and shown with its seed. */
export function holds<Case>(property: fc.IProperty<Case>, cases = CASES): void {
  fc.assert(property, { numRuns: cases });
  tally("cases", cases);
}

/** As `holds`, for properties that have to wait. */
export async function holdsInTime<Case>(property: fc.IAsyncProperty<Case>, cases = CASES): Promise<void> {
  await fc.assert(property, { numRuns: cases });
  tally("cases", cases);
}
