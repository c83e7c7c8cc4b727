import type { Command } from "commander";
import { summaryJson } from "../../../client/batch-json.ts";
import { type BatchRow, isRepeat } from "../../../core/batch/batch-row.ts";
import { checkRows, isRow, type ManifestProblem, type RowDefaults } from "../../../core/batch/check-rows.ts";
import type { BatchResult } from "../../../core/batch/execute.ts";
import { ManifestError } from "../../../core/batch/manifest-error.ts";
import { add, noCost } from "../../../core/batch/plan.ts";
import { parseShard } from "../../../core/batch/shard.ts";
import { checkBatchBudget } from "../../../core/limits/batch-budget.ts";
import { COLUMNS } from "../../../core/manifest/columns.ts";
import type { RunWith } from "../../app/command.ts";
import type { Session } from "../../app/session.ts";
import {
  addBatchOptions,
  addBatchOutputOptions,
  allowanceOf,
  type BatchFlags,
  concurrencyOf,
  placeOf,
} from "../../flags/batch-flags.ts";
import { addRequestOptions, type RequestFlags, readRequestFlags } from "../../flags/request-flags.ts";
import { requestTimeout, waitSettings } from "../../flags/wait-flags.ts";
import { type ManifestSource, manifestSource } from "../../input/manifest-source.ts";
import { type Allowance, costText, rowsText } from "./costs.ts";
import { runShown } from "./execute.ts";
import { showRow } from "./row-output.ts";
import { exitCodeOfBatch, summaryLines } from "./summary.ts";

interface BatchOptions extends RequestFlags, BatchFlags {
  shard?: string;
  resubmitUnknown?: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen batch prompts.txt --sandbox
  $ imggen batch products.csv -m gamma-image-2 --output pictures/ --max-credits 500 --concurrency 8
  $ imggen batch products.csv --dry-run
  $ imggen batch products.csv --shard 1/4 --output pictures/ --yes
  $ jq -c '{prompt: .title}' books.json | imggen batch - --json`;

export function register(command: Command, runWith: RunWith): void {
  command
    .description(
      `${command.description()}\nColumns or keys of a manifest: ${COLUMNS.join(" ")}.\nFlags hold for rows that do not set them.`,
    )
    .argument("<manifest|->", ".txt (a prompt a line), .jsonl, .ndjson or .csv; - reads standard input");
  addBatchOutputOptions(addRequestOptions(command));
  addBatchOptions(command)
    .option("--shard <i/n>", "only the i-th of n equal parts, by the rows' content")
    .option("--resubmit-unknown", "submit rows again whose outcome is unknown")
    .option("--no-validate", "skip validation against the model matrix")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runBatch));
}

async function runBatch(session: Session, manifest: string, flags: BatchOptions): Promise<number> {
  const { values, labels } = await readRequestFlags(flags, session);
  const shard = flags.shard === undefined ? null : parseShard(flags.shard);
  const defaults = { values, labels, validate: flags.validate, shard };
  const source = manifestSource(manifest, session.context);
  const order = {
    place: await placeOf(flags, session),
    wait: await waitSettings(flags, session),
    concurrency: concurrencyOf(flags),
    resubmitUnknown: flags.resubmitUnknown === true,
    shard,
    budgetOf: "folder" as const,
    ...allowanceOf(flags),
    requestTimeoutMs: requestTimeout(flags),
    nameOf: ({ line }: BatchRow) => `line ${line}`,
    onCutOff: (result: BatchResult) => tell(result, session),
  };
  if (flags.dryRun) return dryRun(source, defaults, order, session);
  const rows = await readRows(source, defaults, session);
  const result = await runShown({ ...order, rows }, session, (end) => showRow(end, session));
  await tell(result, session);
  return exitCodeOfBatch(result);
}

/** The last line for a script, or the last lines for a person. */
async function tell(result: BatchResult, session: Session): Promise<void> {
  if (session.options.json) return session.json(summaryJson(result));
  for (const line of summaryLines(result, session)) await session.console.note(line);
}

/** All rows, once every one is known to be good. @throws ManifestError naming every bad one */
async function readRows(
  source: ManifestSource,
  defaults: RowDefaults,
  session: Session,
): Promise<BatchRow[]> {
  const rows: BatchRow[] = [];
  await eachRow(source, defaults, (row) => rows.push(row));
  for (const { checked } of rows) for (const warning of checked.warnings) await session.console.warn(warning);
  return rows;
}

/** Goes through a manifest to its end. @throws ManifestError where anything in it is wrong */
async function eachRow(
  source: ManifestSource,
  defaults: RowDefaults,
  take: (row: BatchRow) => unknown,
): Promise<void> {
  const problems: ManifestProblem[] = [];
  for await (const each of checkRows(source(), defaults)) {
    if (!isRow(each)) problems.push(each);
    else if (problems.length === 0) await take(each);
  }
  if (problems.length > 0) throw new ManifestError(problems);
}

/** Goes through the manifest twice and keeps nothing of it, so that a file's length does not matter. */
async function dryRun(
  source: ManifestSource,
  defaults: RowDefaults,
  { cap, allowUndocumented }: Omit<Allowance, "yes">,
  session: Session,
): Promise<number> {
  const toSubmit = noCost();
  let repeats = 0;
  const warnings = new Set<string>();
  await eachRow(source, defaults, ({ checked, key }) => {
    add(toSubmit, checked.credits);
    if (isRepeat(key)) repeats += 1;
    for (const warning of checked.warnings) warnings.add(warning);
  });
  if (cap !== null)
    checkBatchBudget({ toSubmit, charged: noCost(), chargedForOthers: noCost() }, cap, allowUndocumented);
  for (const warning of warnings) await session.console.warn(warning);
  if (!session.options.json) {
    await session.console.result(
      `${rowsText(toSubmit.rows, repeats)}, ${costText(toSubmit)}, nothing was sent`,
    );
    return 0;
  }
  await eachRow(source, defaults, ({ row, line, checked: { request, credits } }) =>
    session.json({ ok: true, dryRun: true, row, line, request, credits }),
  );
  const credits = toSubmit.undocumented > 0 ? null : toSubmit.credits;
  await session.json({ type: "summary", dryRun: true, rows: toSubmit.rows, credits });
  return 0;
}
