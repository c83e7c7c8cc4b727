import type { Command } from "commander";
import { openLedger } from "../../client/open-ledger.ts";
import { findTaskFor } from "../../core/task/rerun.ts";
import { checkRequest } from "../../models/check.ts";
import { draftOf } from "../../models/wire.ts";
import type { RunWith } from "../app/command.ts";
import type { Session } from "../app/session.ts";
import {
  addGenerateOptions,
  addOutputOptions,
  type GenerateFlags,
  runRequest,
} from "../flags/generate-flags.ts";
import { clientContext } from "../tasks/client-context.ts";

const EXAMPLES = `
Examples:
  $ imggen rerun a-fox-3f9c.png
  $ imggen rerun task_3f9c --output another-fox.png
  $ imggen rerun a-fox-3f9c.png --dry-run`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<file|taskId>", "an image that imggen saved, wherever it is now, or a task's id");
  addGenerateOptions(addOutputOptions(command))
    .option("--no-validate", "skip validation against the model matrix")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runRerun));
}

async function runRerun(session: Session, what: string, flags: GenerateFlags): Promise<number> {
  const record = await findTaskFor(
    what,
    session.context.resolvePath(what),
    openLedger(clientContext(session)),
  );
  const checked = checkRequest(draftOf(record.intent.request), { validate: flags.validate });
  return runRequest(checked, flags, session, record);
}
