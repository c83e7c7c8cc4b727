import { expect } from "vitest";
import type { Soak } from "./soak.ts";
import type { Trial } from "./try-mutant.ts";
import type { Outcome } from "./try-point.ts";

/** Prints what was tried, and fails with every violation in words. */
export function expectSound(what: string, outcomes: readonly Outcome[]): void {
  const wrong = outcomes.filter((outcome) => outcome.wrong.length > 0);
  const violations = wrong.map(({ scenario, point, wrong }) => `${scenario}, ${point}: ${wrong.join("; ")}`);
  // At once: the long run goes on for most of an hour before it shows what failed.
  console.log([`${what}: ${outcomes.length} tried, ${wrong.length} violations`, ...violations].join("\n"));
  expect(violations, "violations").toEqual([]);
  // A strike that never came proves nothing.
  expect(outcomes.filter(({ struck }) => !struck).map(({ point }) => point)).toEqual([]);
}

export function expectSurvived(result: Soak, seed: number): void {
  const { requests, kills, charges, saved, wrong } = result;
  console.log(
    `soak, seed ${seed}: ${kills} kills over ${requests} requests, ${charges} charged, ${saved} saved, ` +
      `${charges - saved} reported as unknown, ${wrong.length} violations`,
  );
  expect(wrong).toEqual([]);
  expect(charges).toBeGreaterThan(0);
}

/**
 * Prints which case caught a planted bug, and fails where none did, where the sound program fails it too, or where
 * the bug breaks a generate that nothing happens to.
 */
export function expectCaught({ bug, plain, caught, sound }: Trial): void {
  expect(plain?.wrong ?? [], "it breaks a plain generate").toEqual([]);
  expect(caught?.wrong, "no case caught it").toBeDefined();
  expect(caught?.wrong.join(), "it is not the bug that it is meant to be").not.toMatch(
    / is not (defined|a function)|not watched/,
  );
  expect(sound?.wrong).toEqual([]);
  console.log(`${bug}: caught by ${caught?.scenario}, ${caught?.point}: ${caught?.wrong[0]}`);
}
