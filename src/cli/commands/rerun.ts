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

With your own generator, the seed is reused, and --field steps=30 changes only this field.`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<file|taskId>", "task id, or image that this machine saved or that has a sidecar");
  addOptions(command, RERUN).addHelpText("after", EXAMPLES).action(runWith(runRerun));
}

type RerunFlags = FlagsOf<typeof RERUN>;

async function runRerun(session: Session, fileOrTaskId: string, flags: RerunFlags): Promise<number> {
  const { checkRerun } = await import("../../client/rerun-plan.ts");
  const onOther = (other: OtherService) => {
    throw otherServiceError(other, session);
  };
  const promptFor = (earlier: string) => resolvePrompt(earlier, flags, session);
  const events = { onOther, promptFor };
  const { checked, repeated } = await checkRerun(fileOrTaskId, flags, session, events);
  return runRequest(checked, { ...flags, again: true }, session, repeated);
}

/** @throws UsageError */
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

/** A rerun at another service is refused, because it might be charged. */
function otherServiceError(
  { at, kind, configured, isFree, isKnown }: OtherService,
  session: Session,
): UsageError {
  const configuredServiceHint =
    configured === undefined
      ? ""
      : `To submit the request to ${configured}${isFree ? "" : ", which may charge for it"}: ${session.commandLine("--yes")}`;
  const configuredText = `${configured ?? "no service"} is configured`;
  if (kind === "sandbox") {
    return new UsageError(`This request was submitted to the sandbox, but ${configuredText}.`, {
      hint: `To submit the request to the sandbox: ${session.commandLine("--sandbox")}\n${configuredServiceHint}`.trimEnd(),
    });
  }
  // The key is never sent to the address in a sidecar, because anyone could have written the sidecar.
  const originalServiceHint =
    kind === "generator"
      ? `To submit the request to the same generator, add --generator ${shellWord(at)}\n`
      : `To submit the request to the same service, set IMGGEN_BASE_URL=${at} and IMGGEN_API_KEY.\n`;
  return new UsageError(`This request was submitted to ${at}, but ${configuredText}.`, {
    hint: isKnown ? (originalServiceHint + configuredServiceHint).trimEnd() : configuredServiceHint,
  });
}
