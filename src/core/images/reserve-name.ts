import { createHash } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { isSameMachine, type Processes } from "../../lib/processes.ts";
import { sweepClaims, takeClaim } from "../../store/claim.ts";
import { foldedName } from "./published-names.ts";

const PREFIX = ".imggen-";

/**
 * Reserves an image's name where there are no hard links, so that of several processes only one gives it away.
 * Reserved is a hidden file beside it, created exclusively, not the name itself: whoever is killed in between would
 * leave an empty file under the final name, and that must be a whole image or nothing. The reservation names its
 * owner, so that one that was left behind is passed over.
 * @returns what gives the reservation up; null while another process has it
 */
export async function claimName(file: string, processes: Processes): Promise<(() => Promise<void>) | null> {
  const digest = createHash("sha256").update(foldedName(file)).digest("hex").slice(0, 16);
  const result = await takeClaim(path.dirname(file), `${PREFIX}${digest}`, null, patient(processes));
  return result.held ? null : () => result.claim.release();
}

/**
 * Nobody here can tell whether a process of another machine is alive, and to take its reservation would replace its
 * image. What one leaves behind costs no more than a number.
 */
function patient({ self, isAlive }: Processes): Processes {
  return { self, isAlive: (other) => !isSameMachine(other, self) || isAlive(other) };
}

/**
 * Removes what processes have left that were killed while they made a reservation. A whole one stays: it is passed
 * over and removed by whoever reserves the name next, as the task does whose process was killed.
 */
export async function sweepReservations(folder: string, processes: Processes): Promise<void> {
  const names = await promises.readdir(folder).catch(() => []);
  const ours = names.filter((name) => name.startsWith(PREFIX));
  await sweepClaims(folder, ours, async () => true, patient(processes));
}
