import { announcedCharges } from "./disk.ts";
import { ledgerTasks } from "./ledger-tasks.ts";
import type { CrashWorld, Run } from "./world.ts";

const NOT_CHARGED = new Set(["waiting", "not_sent", "refused"]);

/**
 * The day's sum has each request that may have been charged, and no other: all processes together keep the daily limit by it.
 * @param runs what was run before the recovery
 */
export function judgeSpending(world: CrashWorld, runs: readonly Run[]): string[] {
  const { isPaid } = world.scenario.provider;
  const tasks = isPaid ? ledgerTasks(world).filter(({ last }) => last !== "stub") : [];
  const requests = tasks.flatMap(({ id, states }) =>
    states.map((state, at) => ({ name: `${id}.${at}`, state })),
  );
  const mayBeCharged = requests.filter(({ state }) => !NOT_CHARGED.has(state)).map(({ name }) => name);
  const announced = announcedCharges(world);
  // Without a limit a disk that fails is no reason not to submit, and the file's name is not synced.
  const missing =
    world.powerFailed || world.diskFailed ? [] : mayBeCharged.filter((name) => !announced.includes(name));
  // A process may be killed before its task is on the disk, and a disk may fail as a charge is taken back.
  const areUndisturbed = runs.every(({ signal }) => signal === null) && !world.diskFailed;
  const isOfTask = (name: string) => requests.some((each) => each.name === name);
  const extra = announced.filter(
    (name) => !mayBeCharged.includes(name) && !world.diskFailed && (areUndisturbed || isOfTask(name)),
  );
  return [
    ...missing.map((name) => `${name} may have been charged, and is not in the day's sum`),
    ...extra.map((name) => `${name} was not charged, and is in the day's sum`),
  ];
}
