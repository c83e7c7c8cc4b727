import type { Command } from "commander";
import { readSeedFlags, refuseBatchFlags } from "../../client/given-seeds.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { GENERATE } from "../../client/options/request-table.ts";
import { editedPrompt, isInteractive, readPrompt } from "../input/read-prompt.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { runRequest } from "./run-request.ts";

type GenerateFlags = FlagsOf<typeof GENERATE>;

const EXAMPLES = `
Examples:
  $ imggen generate "a lighthouse, oil painting" --sandbox
  $ imggen generate "a red fox" --model gamma-image-2 --ratio 16:9 --quality 2K
  $ imggen generate "the same fox in snow" -m gamma-image-2 --image https://example.com/fox.png
  $ imggen generate --prompt-file prompt.txt --output pictures/ --name "{slug}-{date}"
  $ echo "a quiet harbour" | imggen generate --json --sandbox
  $ imggen generate "a red fox" --model gamma-image-2 --dry-run
  $ imggen generate "a red fox" --generator sdapi:http://gpubox:7860 --seed 1-8 --dry-run`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[prompt]", "prompt of the image; - reads standard input");
  addOptions(command, GENERATE).addHelpText("after", EXAMPLES).action(runWith(runGenerate));
}

async function runGenerate(
  session: Session,
  prompt: string | undefined,
  { seed, ...flags }: GenerateFlags,
): Promise<number> {
  const text = await resolvePrompt(session, prompt, flags);
  const { seeds } = await readSeedFlags(seed, session);
  if (seeds.length > 1) {
    const { runSeeds } = await import("./batch/run-seeds.ts");
    const readsInput = prompt === "-" || (prompt ?? flags.promptFile) === undefined;
    return runSeeds(text, seeds, { ...flags, readsInput }, session);
  }
  refuseBatchFlags(flags);
  const { checkNewRequest } = await import("../../client/request-plan.ts");
  const planned = await checkNewRequest(text, { ...flags, seed: seeds[0] }, session);
  if ("checked" in planned) return runRequest(planned.checked, flags, session);
  if (flags.again || flags.dryRun) throw planned.unusable;
  const { showUnusable } = await import("./submit-shown.ts");
  return showUnusable(planned.unusable, text, session);
}

/** @throws UsageError */
async function resolvePrompt(
  session: Session,
  prompt: string | undefined,
  { promptFile, edit }: Pick<GenerateFlags, "promptFile" | "edit">,
): Promise<string> {
  const { context } = session;
  if (!edit) {
    return readPrompt(prompt, promptFile, context, async () =>
      isInteractive(session) ? context.ask("Prompt: ") : null,
    );
  }
  const isGiven = prompt !== undefined || promptFile !== undefined;
  return editedPrompt(isGiven ? await readPrompt(prompt, promptFile, context) : "", session);
}
