// The names under which the sandbox's queue knows what lease-files.ts exports. It goes with that queue.
import { type LeaseResult, takeLease } from "./lease-files.ts";
import type { Processes, ProcessIdentity } from "./processes.ts";

export { type Claim, isLeased as isClaimed, sweepLeases as sweepClaims } from "./lease-files.ts";

export function takeClaim(
  folder: string,
  id: string,
  firstOwner: ProcessIdentity | null,
  processes: Processes,
  forMs?: number,
): Promise<LeaseResult> {
  return takeLease(folder, id, firstOwner, processes, forMs === undefined ? {} : { forMs });
}
