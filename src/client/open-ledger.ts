import { Ledger } from "../store/ledger.ts";
import type { ClientSession } from "./session.ts";

/** The ledger of this machine. Apart from the connections, so that what only reads it does not load them. */
export function openLedger({ folders, context }: Pick<ClientSession, "folders" | "context">): Ledger {
  return new Ledger(folders.state, context.clock, context.processes);
}
