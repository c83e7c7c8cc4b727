import { Ledger } from "../store/ledger.ts";
import type { ClientContext } from "./context.ts";

/** The ledger of this machine. Apart from the connections, so that what only reads it does not load them. */
export function openLedger({
  folders,
  clock,
  processes,
}: Pick<ClientContext, "folders" | "clock" | "processes">): Ledger {
  return new Ledger(folders.state, clock, processes);
}
