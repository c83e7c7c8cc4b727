import type { Command } from "commander";
import type { FlagsOf } from "../../client/options/option.ts";
import { FORGET } from "../../client/options/task-table.ts";
import { UsageError } from "../../lib/error-types.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { confirmUnlessYes } from "../input/input-stream.ts";
import { addOptions } from "../session/add-options.ts";
import type { Answer, RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const MORE = [
  "Removes the records and stored replies of the tasks. Also removes copies of reference images and workflows that no other record uses, if the copies are older than a day. Images, sidecars, batch rows and the day's spending are not removed.",
  "Tasks that are unfinished, of unknown outcome, or from imggen serve in the last 7 days are not removed.",
];

const EXAMPLES = `
Examples:
  $ imggen forget task_3f9c
  $ imggen forget --before 30d`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description([command.description(), ...MORE].join("\n"))
    .argument("[taskId...]", "ids of finished tasks");
  addOptions(command, FORGET).addHelpText("after", EXAMPLES).action(runWith(runForget));
}

async function runForget(session: Session, ids: string[], flags: FlagsOf<typeof FORGET>): Promise<Answer> {
  const { before, yes } = flags;
  if (before === undefined && ids.length === 0)
    throw new UsageError("imggen forget needs task ids, or --before.");
  if (before !== undefined && ids.length > 0)
    throw new UsageError("--before cannot be combined with task ids.");
  const { Operations } = await import("../../client/operations.ts");
  const operations = new Operations(session, undefined);
  const forgettable = await operations.findForgettable(ids, before);
  const isConfirmed =
    before === undefined ||
    forgettable.ids.length === 0 ||
    (await confirmForget(forgettable.ids.length, yes, session));
  const declined = { forgotten: 0, skipped: forgettable.skipped + forgettable.ids.length };
  const result = isConfirmed ? await operations.forget(forgettable, session.context.signal) : declined;
  if (before === undefined && result.skipped > 0)
    throw new UsageError(
      `${pluralize(result.skipped, "task was", "tasks were")} not removed after a change during the command.`,
      {
        hint: "To list the tasks: imggen history",
      },
    );
  return { json: { ok: true, ...result }, show: () => session.console.result(resultText(result)) };
}

function confirmForget(count: number, yes: boolean | undefined, session: Session): Promise<boolean> {
  const records = pluralize(count, "task");
  const refusal = `imggen forget --before would remove the records of ${records}. Nothing was removed.`;
  return confirmUnlessYes(`Remove the records of ${records}?`, refusal, yes, session);
}

function resultText({ forgotten, skipped }: { forgotten: number; skipped: number }): string {
  const skippedText = skipped > 0 ? `, ${skipped} kept` : "";
  return `${pluralize(forgotten, "task")} forgotten${skippedText}`;
}
