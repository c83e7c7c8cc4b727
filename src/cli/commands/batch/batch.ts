import type { Command } from "commander";
import { COLUMNS, planFacts, planJson, rowJson, summaryJson } from "../../../client/batch-json.ts";
import type { CheckedBatch } from "../../../client/batch-operations.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { BATCH } from "../../../client/options/request-table.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import { openInput } from "../../../lib/disk-file.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { COMMAND_VOCABULARY } from "../../../lib/wording.ts";
import { inputChunks, standardInput } from "../../input/input-stream.ts";
import { addOptions } from "../../session/add-options.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { shortPath } from "../../text/phrases.ts";
import { runShown, showPaths } from "./run-shown.ts";
import { batchExitCode, estimateText, planText, type ShownResult, showSummary } from "./summary.ts";

const EXAMPLES = `
Examples:
  $ imggen batch prompts.txt --sandbox
  $ imggen batch products.csv -m gamma-image-2 --output pictures/ --max-credits 500 --concurrency 8
  $ imggen batch products.csv --dry-run
  $ imggen batch foxes.csv --template "a {colour} fox" --name "{colour}-{task}"
  $ jq -c '.[] | {prompt: .title}' books.json | imggen batch - --json`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description(
      `${command.description()}\nColumns or keys of a manifest (not case-sensitive): ${COLUMNS}. Only the prompt is required.\nFlags are defaults for rows without a value. Other columns can be used in --template and --name.`,
    )
    .argument("<manifest|->", ".txt (one prompt per line), .jsonl, .ndjson or .csv; - reads standard input");
  addOptions(command, BATCH).addHelpText("after", EXAMPLES).action(runWith(runBatch));
}

async function runBatch(session: Session, name: string, flags: FlagsOf<typeof BATCH>): Promise<number> {
  const { console, context, options } = session;
  const { checkManifestBatch, planBatch } = await import("../../../client/batch-operations.ts");
  const open = () => openInput(context.resolvePath(name));
  const chunks =
    name === "-"
      ? standardInput(context)
      : inputChunks(open, `The manifest ${name} cannot be read`, context.signal);
  const batch = await checkManifestBatch(name, chunks, flags, session);
  for (const warning of batch.warnings) await console.warn(warning);
  if (flags.dryRun) {
    await showPlan((await planBatch(batch, session)).plan, batch, session);
    return 0;
  }
  const { folder } = batch.spec.output;
  const readsInput = name === "-";
  const result = await runShown(batch, flags, session, {
    onEnd: (end) => (options.json ? console.json(rowJson(end, COMMAND_VOCABULARY)) : showPaths(end, session)),
    onCutOff: (soFar) => showResult({ ...soFar, readsInput }, folder, session),
  });
  await showResult({ ...result, readsInput }, folder, session);
  return batchExitCode(result);
}

const COST_COLUMNS = [
  { heading: "MODEL", required: true, omitIfConstant: true },
  { heading: "QUALITY", omitIfConstant: true },
  { heading: "ROWS", required: true },
  { heading: "CREDITS", required: true },
];

async function showPlan(plan: BatchPlan, { spec }: CheckedBatch, session: Session): Promise<void> {
  const { console, options } = session;
  const { rows, sums } = planJson(plan);
  if (options.json) {
    for (const row of rows) await console.json({ ok: true, dryRun: true, ...row });
    return console.json({ type: "summary", dryRun: true, ...sums });
  }
  const facts = planFacts(plan, spec.matrix);
  await console.result(`${planText(facts)}, nothing was sent`);
  const costs = sums.byModel.map(({ model, quality, rows, credits }) => [
    model,
    quality ?? "-",
    String(rows),
    String(credits ?? "?"),
  ]);
  if (costs.length > 1) await (await import("../../text/table.ts")).showTable(COST_COLUMNS, costs, session);
  const estimate = estimateText(facts);
  if (estimate !== "") await console.note(estimate);
}

async function showResult(result: ShownResult, folder: string, session: Session): Promise<void> {
  const { sheet } = result;
  if (session.options.json)
    return session.console.json({ ...summaryJson(result), ...(sheet !== undefined && { sheet }) });
  await showSummary(result, session);
  const { saved, skipped } = result.counts;
  if (saved + skipped === 0 || session.context.stderr.isTTY !== true) return;
  const folderText = shortPath(folder, session.context) || ".";
  await session.console.note(`To create a page of the images: imggen gallery ${shellWord(folderText)}`);
}
