import type { Ledger } from "../../src/store/ledger.ts";

/** From now on the disk says of each task that it could not be released. */
export function refuseReleases(ledger: Ledger): void {
  const release = ledger.release.bind(ledger);
  ledger.release = (owned, isMine) => {
    release(owned, isMine);
    throw Object.assign(new Error("EIO: i/o error, close"), { code: "EIO" });
  };
}
