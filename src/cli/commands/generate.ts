import type { Command } from "commander";
import { checkBudget } from "../../core/budget.ts";
import { resolveDestination } from "../../core/destination.ts";
import { UsageError } from "../../lib/errors.ts";
import { printableBlock } from "../../lib/escape.ts";
import { checkRequest } from "../../models/check.ts";
import { resolveModel } from "../../models/find.ts";
import type { CheckedRequest } from "../../models/request.ts";
import type { RunWith } from "../command.ts";
import { type DraftFlags, readDraft } from "../draft.ts";
import { reportJson } from "../json.ts";
import { wholeNumberOption } from "../options.ts";
import { readPrompt } from "../prompt.ts";
import type { Session } from "../session.ts";
import { creditsText } from "../text.ts";
import { requestTimeout, type WaitFlags, waitSettings } from "../wait-options.ts";

interface GenerateOptions extends DraftFlags, WaitFlags {
  output?: string;
  name?: string;
  overwrite?: boolean;
  promptFile?: string;
  dryRun?: boolean;
  wait: boolean;
  maxCredits?: string;
  validate: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen generate "a lighthouse at dusk, oil painting" --sandbox
  $ imggen generate "a red fox" --model gamma-image-2 --ratio 16:9 --quality 2K
  $ imggen generate "the same fox in snow" -m gamma-image-2 --image https://example.com/fox.png
  $ imggen generate --prompt-file prompt.txt --output pictures/ --name "{slug}-{date}"
  $ echo "a quiet harbour" | imggen generate --json --sandbox
  $ imggen generate "a red fox" --model gamma-image-2 --dry-run`;

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("[prompt]", "what the image shows; - reads it from standard input")
    .option("-m, --model <id>", "model, see imggen models (default: vendor1/alpha-2)")
    .option("-r, --ratio <w:h>", "aspect ratio, such as 16:9, or auto")
    .option("-q, --quality <quality>", "basic, high, 1K, 2K or 4K, as the model allows")
    .option("-n, --max-images <n>", "number of images, 1 to 15, as the model allows")
    .option("-i, --image <url>", "reference image; repeat it for several", collect)
    .option("-o, --output <path>", "file, folder (ends in /), or - for standard output")
    .option(
      "--name <template>",
      "file name in a folder, of {slug} {model} {ratio} {quality} {task} {index} {date} {time} {ext}",
    )
    .option("--overwrite", "replace existing files")
    .option("--prompt-file <path>", "read the prompt from a file")
    .option("--dry-run", "check, show the request and its cost, send nothing")
    .option("--no-wait", "return as soon as the service has taken the task")
    .option("--timeout <duration>", "how long to wait for the result (default: 180s, 600s for 4K)")
    .option("--poll-interval <duration>", "look at a steady interval, 100ms or more (default: automatic)")
    .option(
      "--request-timeout <duration>",
      "limit of a single request (default: submit 120s, poll 15s, idle download 30s)",
    )
    .option("--max-credits <n>", "refuse what would cost more")
    .option("--no-validate", "send it even where the model matrix forbids it")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runGenerate));
}

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

async function runGenerate(
  session: Session,
  prompt: string | undefined,
  flags: GenerateOptions,
): Promise<number> {
  const { values, labels } = await readDraft(flags, session);
  const output = await session.settings.get("output", { value: flags.output, label: "--output" });
  const requestTimeoutMs = requestTimeout(flags);
  const cap =
    flags.maxCredits === undefined ? null : wholeNumberOption("--max-credits", flags.maxCredits, { min: 0 });
  const text = await readPrompt(prompt, flags.promptFile, session.context);
  const checked = checkRequest({ ...values, prompt: text }, { validate: flags.validate, labels });
  const wait = await waitSettings(flags, session);
  if (cap !== null) checkBudget(checked, cap, !flags.validate);
  const destination = await resolveDestination({
    output: output?.value,
    name: flags.name,
    overwrite: flags.overwrite === true,
    cwd: session.context.cwd,
  });
  if (destination.kind === "stdout") requireOneImageOut(checked, flags, session, output?.label ?? "--output");
  for (const warning of checked.warnings) await session.console.warn(warning);
  if (flags.dryRun) return showDryRun(checked, session);
  const { buy } = await import("../buy.ts");
  const report = await buy(
    { checked, destination, wait: flags.wait ? wait : null },
    requestTimeoutMs,
    session,
  );
  const { exitCodeOfReport, renderReport } = await import("../render.ts");
  if (session.options.json) await session.json(reportJson(report));
  else await renderReport(report, session);
  return exitCodeOfReport(report);
}

/** Standard output takes the bytes of one image, and nothing beside them. @throws UsageError */
function requireOneImageOut(
  { request }: CheckedRequest,
  flags: GenerateOptions,
  { options, context }: Session,
  label: string,
): void {
  const refuse = (why: string, hint?: string): never => {
    throw new UsageError(`${label} - ${why}.`, { hint });
  };
  if (options.json) refuse("and --json both need standard output");
  if (!flags.wait) refuse("needs the image, and --no-wait does not wait for it");
  if (context.stdout.isTTY) refuse("would write an image's bytes to the terminal", "Redirect it to a file.");
  const most = request.maxImages ?? resolveModel(request.model)?.maxImages ?? 1;
  if (most > 1) refuse("takes one image", "Add --max-images 1, or choose a folder.");
}

async function showDryRun({ request, credits, warnings }: CheckedRequest, session: Session): Promise<number> {
  if (session.options.json) {
    const said = warnings.length > 0 ? { warnings } : {};
    await session.json({ ok: true, dryRun: true, request, credits, ...said });
    return 0;
  }
  const body = printableBlock(JSON.stringify(request, null, 2));
  await session.console.result(`POST /generate-image\n${body}\n${creditsText(credits)}, nothing was sent`);
  return 0;
}
