import type { Command } from "commander";
import type { FlagsOf } from "../../client/options/option.ts";
import { RERUN } from "../../client/options/request-table.ts";
import type { OtherService } from "../../client/rerun-plan.ts";
import { UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { editedPrompt, readPrompt } from "../input/read-prompt.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { runRequest } from "./run-request.ts";

const EXAMPLES = `
Examples:
  $ imggen rerun a-fox-3f9c.png
  $ imggen rerun a-fox-3f9c.png --quality 4K
  $ imggen rerun a-fox-3f9c.png --prompt "a grey fox"
  $ imggen rerun a-fox-3f9c.png --seed random
  $ imggen rerun task_3f9c --output another-fox.png
  $ imggen rerun a-fox-3f9c.png --dry-run

With your own generator the seed stays the same, and --field steps=30 changes one field and keeps the others.`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<file|taskId>", "an image that imggen saved here or with a sidecar, or a task's id");
  addOptions(command, RERUN).addHelpText("after", EXAMPLES).action(runWith(runRerun));
}

type RerunFlags = FlagsOf<typeof RERUN>;

async function runRerun(session: Session, what: string, flags: RerunFlags): Promise<number> {
  const { checkRerun } = await import("../../client/rerun-plan.ts");
  const refuse = (other: OtherService) => {
    throw ofOtherService(other, session);
  };
  const promptFor = (earlier: string) => resolvePrompt(earlier, flags, session);
  const how = { onOther: refuse, promptFor };
  const { checked, repeated } = await checkRerun(what, flags, session, how);
  return runRequest(checked, { ...flags, again: true }, session, repeated);
}

/** The prompt that flags give, or the earlier one; as the person at the terminal edits it. @throws UsageError */
async function resolvePrompt(
  earlier: string,
  { prompt, promptFile, edit = false }: RerunFlags,
  session: Session,
): Promise<string> {
  const { context } = session;
  const isGiven = prompt !== undefined || promptFile !== undefined;
  const text = isGiven ? await readPrompt(prompt, promptFile, context, undefined, "with --prompt") : earlier;
  return edit ? editedPrompt(text, session) : text;
}

/** One that was free at the sandbox must not be charged at another service without a word. */
function ofOtherService(
  { at, kind, configured, isFree, isKnown }: OtherService,
  session: Session,
): UsageError {
  const other =
    configured === undefined
      ? ""
      : `To submit it to ${configured}${isFree ? "" : ", which may charge for it"}: ${session.commandLine("--yes")}`;
  const instead = `${configured ?? "no service"} is configured`;
  if (kind === "sandbox") {
    return new UsageError(`This was made by the sandbox, and ${instead}.`, {
      hint: `To submit it to the sandbox: ${session.commandLine("--sandbox")}\n${other}`.trimEnd(),
    });
  }
  // A sidecar may have been written by anyone, so the key is never sent to the address in it.
  const there =
    kind === "generator"
      ? `To submit it there again, add --generator ${shellWord(at)}\n`
      : `To submit it there again, set IMGGEN_BASE_URL=${at} and its key.\n`;
  return new UsageError(`This was submitted to ${at}, and ${instead}.`, {
    hint: isKnown ? (there + other).trimEnd() : other,
  });
}
