import type { Ledger } from "../../src/store/ledger.ts";

/** From now on the disk says of each claimed task that it could not be released. */
export function refuseReleases(ledger: Ledger): void {
  const claim = ledger.claim.bind(ledger);
  ledger.claim = async (wanted) => {
    const owned = await claim(wanted);
    if (typeof owned === "string") return owned;
    const release = async () => {
      await owned.release();
      throw Object.assign(new Error("EIO: i/o error, close"), { code: "EIO" });
    };
    return { ...owned, release };
  };
}
