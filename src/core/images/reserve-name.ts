import { createHash } from "node:crypto";
import { promises } from "node:fs";
import path from "node:path";
import { sweepClaims, takeClaim } from "../../lib/claim.ts";
import { isSameMachine, type Processes } from "../../lib/processes.ts";
import { foldedName } from "./published-names.ts";

const PREFIX = ".imggen-";

/**
 * Reserves an image's name on a file system without hard links, so that only one of several processes uses it. The
 * reservation is a hidden file beside it, created exclusively, and not the name itself: a process that is killed in
 * between would leave an empty file under the final name, which must be a complete image or nothing. The reservation
 * names its owner, so that one left behind by a dead process is ignored.
 * @returns releases the reservation; null while another process has it
 */
export async function reserveName(file: string, processes: Processes): Promise<(() => Promise<void>) | null> {
  const digest = createHash("sha256").update(foldedName(file)).digest("hex").slice(0, 16);
  const result = await takeClaim(path.dirname(file), `${PREFIX}${digest}`, null, patient(processes));
  return result.isTaken ? null : () => result.claim.release();
}

/**
 * Whether a process of another machine is alive is not known here, and taking over its reservation could replace its
 * image. If it is dead, the image gets a number instead, which is harmless.
 */
function patient({ self, isAlive }: Processes): Processes {
  return { self, isAlive: (other) => !isSameMachine(other, self) || isAlive(other) };
}

/**
 * Removes unfinished reservations of killed processes. A finished one stays: the next process that reserves the name
 * ignores and removes it.
 */
export async function sweepReservations(folder: string, processes: Processes): Promise<void> {
  const names = await promises.readdir(folder).catch(() => []);
  const ours = names.filter((name) => name.startsWith(PREFIX));
  await sweepClaims(folder, ours, async () => true, patient(processes));
}
