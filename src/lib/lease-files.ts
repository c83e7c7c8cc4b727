import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import {
  claimsOn,
  createClaim,
  isOwnerHeld,
  leaseEnd,
  livingOwnerOf,
  type OwnerLease,
  type Reading,
  readOwner,
} from "./claim-files.ts";
import { removeIfPresent } from "./durable.ts";
import { isInSameScope, type Processes } from "./processes.ts";
import { replaceUnsynced } from "./write-whole.ts";

/** The lease that somebody has on the resource, or the claim that this process now has on it. */
export type LeaseResult = { isTaken: true; by: OwnerLease } | { isTaken: false; claim: Claim };

/** How long others respect a claim that its owner needs for a moment only, in milliseconds. */
const TURN_MS = 10_000;

export interface Claim {
  /**
   * Whether nobody else has had a claim since: any process may take one once this claim's time is up, and where a dead
   * one's was swept away at just that moment.
   */
  isKept(): Promise<boolean>;
  release(): Promise<void>;
}

export interface LeaseOptions {
  /**
   * How long others respect the claim, milliseconds. Default: while its process lives. Other machines cannot ask, and
   * respect it for 10 s: by then its process has recorded what it does with the resource.
   */
  forMs?: number;
  /**
   * Takes the resource from living owners too, because a time limit that they have recorded has passed. A claim that is
   * taken meanwhile is respected all the same, so that only one of several callers gets it.
   */
  ignoresLiving?: boolean;
  /** Wall-clock time, milliseconds since the epoch. Default: the system's. */
  now?: () => number;
}

/**
 * Takes over a resource (a task, the settings) whose owner is gone, or that had none. Claims are numbered files, each
 * created exclusively: of two processes that both find the last owner dead, only one can create the next number.
 */
export async function takeLease(
  folder: string,
  id: string,
  firstOwner: OwnerLease | null,
  processes: Processes,
  { forMs, ignoresLiving = false, now = Date.now }: LeaseOptions = {},
): Promise<LeaseResult> {
  if (firstOwner !== null && !ignoresLiving && isOwnerHeld(firstOwner, processes, now()))
    return { isTaken: true, by: firstOwner };
  const reading = { processes, now };
  const ignored = ignoresLiving ? await leasesOn(folder, id) : new Map<string, OwnerLease | "gone" | null>();
  for (let generation = 1; ; generation++) {
    const file = path.join(folder, `${id}.claim-${generation}`);
    const time =
      forMs === undefined ? { elsewhereUntil: leaseEnd(TURN_MS, now()) } : { until: leaseEnd(forMs, now()) };
    const lease = { ...processes.self, ...time };
    if (await createClaim(file, lease)) {
      return {
        isTaken: false,
        claim: new NumberedClaim({ folder, id, generation, lease }, ignored, reading),
      };
    }
    const owner = await livingOwnerOf(file, reading);
    // Released a moment ago: the number is free again, and skipping it could give it two owners.
    if (owner === "gone") generation -= 1;
    else if (owner && !isDeepStrictEqual(owner, ignored.get(file))) return { isTaken: true, by: owner };
  }
}

/** What every claim on a resource records. */
async function leasesOn(folder: string, id: string): Promise<Map<string, OwnerLease | "gone" | null>> {
  const files = claimsOn(folder, id);
  return new Map(await Promise.all(files.map(async (file) => [file, await readOwner(file)] as const)));
}

class NumberedClaim implements Claim {
  readonly #claim: { folder: string; id: string; generation: number; lease: OwnerLease };
  readonly #file: string;
  /** Claims of living processes that were ignored when this one was taken. */
  readonly #ignored: ReadonlyMap<string, unknown>;
  readonly #reading: Reading;

  constructor(
    claim: { folder: string; id: string; generation: number; lease: OwnerLease },
    ignored: ReadonlyMap<string, unknown>,
    reading: Reading,
  ) {
    this.#claim = claim;
    this.#file = path.join(claim.folder, `${claim.id}.claim-${claim.generation}`);
    this.#ignored = ignored;
    this.#reading = reading;
  }

  async isKept(): Promise<boolean> {
    const { folder, id, lease } = this.#claim;
    const others = claimsOn(folder, id).filter((file) => file !== this.#file);
    // Once its time is up, whoever took the next number may have come and died.
    const mayBeOvertaken = !isOwnerHeld(lease, this.#reading.processes, this.#reading.now());
    const later = others.filter((file) => this.#isLater(file));
    if (mayBeOvertaken && later.length > 0) return false;
    if (await this.#wasTakenElsewhere(later)) return false;
    // Whoever releases a claim removes all others first.
    return !(await this.#areHeld(others)) && (await this.#isOurs());
  }

  /**
   * Releases the claim. While it is held no other process can claim the resource, so all other claims are of dead
   * processes. They are removed first: a process that finds their numbers free takes the resource as released. A claim
   * whose time was up may have been overtaken: then it keeps its number, because to free it would be to release the
   * later claim.
   */
  async release(): Promise<void> {
    if (!(await this.#isOurs())) return;
    const { folder, id } = this.#claim;
    const others = claimsOn(folder, id).filter((file) => file !== this.#file);
    const later = others.filter((file) => this.#isLater(file));
    if ((await this.#areHeld(later)) || (await this.#wasTakenElsewhere(later))) {
      replaceUnsynced(this.#file, NOBODY, 0o600);
      return;
    }
    for (const file of others) removeIfPresent(file);
    removeIfPresent(this.#file);
  }

  #isLater(file: string): boolean {
    return Number(/\d+$/.exec(file)?.[0]) > this.#claim.generation;
  }

  /** Whether another machine has taken it since, once it respected this claim no longer. */
  async #wasTakenElsewhere(later: readonly string[]): Promise<boolean> {
    const { elsewhereUntil } = this.#claim.lease;
    const { self } = this.#reading.processes;
    const owners = await Promise.all(later.map(readOwner));
    return owners.some((owner) => {
      if (owner === null || owner === "gone" || "by" in owner || isInSameScope(owner, self)) return false;
      return (owner.elsewhereUntil ?? "") > (elsewhereUntil ?? "");
    });
  }

  async #areHeld(files: readonly string[]): Promise<boolean> {
    const owners = await Promise.all(files.map((file) => livingOwnerOf(file, this.#reading)));
    return owners.some((owner, at) => {
      return owner !== null && !isDeepStrictEqual(owner, this.#ignored.get(files[at] ?? ""));
    });
  }

  /** Whether the file is still this claim's, and not gone, or that of a process that has the number since. */
  async #isOurs(): Promise<boolean> {
    return isDeepStrictEqual(await readOwner(this.#file), this.#claim.lease);
  }
}

/** A lease that nobody has. */
const NOBODY = JSON.stringify({ by: null });

/** How long to wait for a claim, milliseconds, and what ends the wait earlier. */
export interface LeaseLimits {
  mostMs: number;
  signal?: AbortSignal | undefined;
}

/**
 * Claims a resource that processes have in turn, each for a short time. It has no owner beside its claims.
 * @throws Error that names the process that still has it after `mostMs`; or the signal's reason
 */
export async function takeLeaseInTurn(
  folder: string,
  id: string,
  processes: Processes,
  { mostMs, signal }: LeaseLimits,
  now: () => number = Date.now,
): Promise<Claim> {
  for (const end = performance.now() + mostMs; ; ) {
    signal?.throwIfAborted();
    const turn = await takeLease(folder, id, null, processes, { forMs: TURN_MS, now });
    if (!turn.isTaken) return turn.claim;
    if (performance.now() > end) throw new Error(`${nameOf(turn.by)} is using it`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function nameOf(lease: OwnerLease): string {
  return "by" in lease ? "another process" : `process ${lease.pid}`;
}
