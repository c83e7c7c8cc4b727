import type { Command } from "commander";
import { findPurchase } from "../../core/task/rerun.ts";
import { checkRequest } from "../../models/check.ts";
import { draftOf } from "../../models/wire.ts";
import type { RunWith } from "../app/command.ts";
import type { Session } from "../app/session.ts";
import {
  addPlaceOptions,
  addPurchaseOptions,
  type PurchaseFlags,
  purchase,
} from "../flags/generate-flags.ts";
import { openLedger } from "../tasks/ledger.ts";

const EXAMPLES = `
Examples:
  $ imggen rerun a-fox-3f9c.png
  $ imggen rerun task_3f9c --output another-fox.png
  $ imggen rerun a-fox-3f9c.png --dry-run`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<file|taskId>", "an image that imggen saved, wherever it is now, or a task's id");
  addPurchaseOptions(addPlaceOptions(command))
    .option("--no-validate", "send it even where the model matrix forbids it")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runRerun));
}

async function runRerun(session: Session, what: string, flags: PurchaseFlags): Promise<number> {
  const record = await findPurchase(what, session.context.resolvePath(what), openLedger(session));
  const checked = checkRequest(draftOf(record.intent.request), { validate: flags.validate });
  return purchase(checked, flags, session, record);
}
