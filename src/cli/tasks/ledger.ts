import { Ledger } from "../../store/ledger.ts";
import type { Session } from "../app/session.ts";

/** The ledger of this machine. Apart from the session, so that what never looks at it does not load it. */
export function openLedger({ context, folders }: Session): Ledger {
  return new Ledger(folders.state, context.clock, context.processes);
}
