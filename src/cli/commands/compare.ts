import type { Command } from "commander";
import {
  differingNames,
  planFacts,
  planJson,
  rowJson,
  rowStateText,
  rowValues,
  summaryJson,
} from "../../client/batch-json.ts";
import type { CheckedBatch } from "../../client/batch-operations.ts";
import { readSeedFlags } from "../../client/given-seeds.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { COMPARE } from "../../client/options/request-table.ts";
import type { CheckedRow } from "../../core/batch/batch-row.ts";
import type { SkippedRow } from "../../core/batch/check-rows.ts";
import type { BatchPlan } from "../../core/batch/plan.ts";
import type { RowResult } from "../../core/batch/row-result.ts";
import type { RowValues } from "../../core/manifest/entry.ts";
import { UsageError } from "../../lib/error-types.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { COMMAND_VOCABULARY } from "../../lib/wording.ts";
import type { Limit } from "../../models/invalid-request.ts";
import { readPrompt } from "../input/read-prompt.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { creditsCell } from "../text/phrases.ts";
import { showTable, type TableCell, type TableColumn } from "../text/table.ts";
import { runShown } from "./batch/run-shown.ts";
import { batchExitCode, estimateText, planText, type ShownResult, showSummary } from "./batch/summary.ts";

const AXES = ["model", "ratio", "quality"] as const;

const EXAMPLES = `
Examples:
  $ imggen compare "a red fox" -m gamma-image-2,z-image --sandbox
  $ imggen compare "a red fox" -m gamma-image-2 -r 1:1,16:9 -q 1K,2K --dry-run
  $ imggen compare "a red fox" -m alpha-2,gamma-image-2 -q 1K --output compared/

With your own generator, --seed 1-4 generates an image for each seed, and --field steps=10,20 for each value. More: imggen help generators`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<prompt>", "prompt of all images; - reads standard input");
  addOptions(command, COMPARE).addHelpText("after", EXAMPLES).action(runWith(runCompare));
}

async function runCompare(
  session: Session,
  text: string,
  { seed, ...flags }: FlagsOf<typeof COMPARE>,
): Promise<number> {
  const { console, context, options } = session;
  const { checkCombinations, fieldCombinations, planBatch } = await import(
    "../../client/batch-operations.ts"
  );
  const seedOptions = await readSeedFlags(seed, session);
  const isSeeded = seedOptions.seeds.length > 0;
  const field = session.settings.flag("field");
  const fieldAxis = field && fieldCombinations(field, isSeeded ? seedOptions.field : undefined);
  const axes: (readonly Partial<RowValues>[])[] = [
    ...AXES.map((name) => axisValues(name, flags[name])),
    isSeeded ? seedOptions.seeds.map((value) => ({ seed: value })) : [{}],
    fieldAxis === undefined ? [{}] : fieldAxis.map((fields) => ({ fields })),
  ];
  const rows = axes.reduce<RowValues[]>(
    (combined, axis) => combined.flatMap((row) => axis.map((value) => ({ ...row, ...value }))),
    [{ prompt: await readPrompt(text, undefined, context) }],
  );
  const batch = await checkCombinations(rows, flags, session);
  if (batch.spec.rows.length === 0) throw noCombinationError(batch.skipped);
  for (const warning of batch.warnings) await console.warn(warning);
  const skipped = skippedLines(batch, session);
  if (skipped.length > 0 && !options.json) await console.note(skipped);
  if (flags.dryRun) return showPlan((await planBatch(batch, session)).plan, batch, session);
  const results: RowResult[] = [];
  const onEnd = async (rowResult: RowResult) => void results.push(rowResult);
  const result = await runShown(batch, flags, session, { onEnd });
  results.sort((a, b) => a.row.row - b.row.row);
  await showComparison(batch, results, { ...result, readsInput: text === "-" }, session);
  return batchExitCode(result);
}

/** @throws UsageError if the flag of the axis has no value */
function axisValues(name: (typeof AXES)[number], flag: readonly string[] | undefined): Partial<RowValues>[] {
  if (flag === undefined) return [{}];
  const values = flag.flatMap((each) => each.split(",")).map((value) => value.trim());
  const uniqueValues = [...new Set(values)].filter((value) => value !== "");
  const hint = "Nothing was sent. Give at least one value, or omit the flag.";
  if (uniqueValues.length === 0) throw new UsageError(`--${name} is empty.`, { hint });
  return uniqueValues.map((value) => ({ [name]: value }));
}

function noCombinationError(skipped: readonly SkippedRow[]): UsageError {
  const [reason = "", ...others] = new Set(skipped.map((row) => row.reason));
  const moreReasons = others.length > 0 ? ` (and ${pluralize(others.length, "other reason")})` : "";
  const advice = skipped.some(({ limit }) => limit !== null)
    ? " To see what each model supports: imggen models"
    : "";
  const hint = `Nothing was sent.${advice}`;
  return new UsageError(`Nothing to compare: ${reason.replace(/\.$/, "")}${moreReasons}.`, { hint });
}

function differingFields(rows: readonly CheckedRow[]): string[] {
  const axisNames: readonly string[] = AXES;
  return differingNames(rows.map(rowValues)).filter((name) => !axisNames.includes(name));
}

const planColumns = (fields: readonly string[]): TableColumn[] => [
  { heading: "MODEL", required: true, omitIfConstant: true },
  { heading: "RATIO", neverCut: true, omitIfConstant: true },
  { heading: "QUALITY", neverCut: true, omitIfConstant: true },
  ...fields.map((name) => ({ heading: name.toUpperCase(), required: true })),
  { heading: "CREDITS", neverCut: true, omitIfConstant: true },
];

function planCells(row: CheckedRow, fields: readonly string[], { isSandbox }: Session): string[] {
  const { credits } = row.checked;
  const values = rowValues(row);
  const free = isSandbox ? "sandbox" : credits === 0 ? "generator" : null;
  return [...[...AXES, ...fields].map((name) => values[name] ?? "-"), creditsCell(credits, free)];
}

async function showPlan(plan: BatchPlan, batch: CheckedBatch, session: Session): Promise<number> {
  const { console, options } = session;
  if (options.json) {
    const { rows, sums } = planJson(plan);
    const cells = rows.map(({ request, credits }) => ({ request, credits }));
    const document = { cells, skipped: skippedJson(batch), credits: sums.credits };
    await console.json({ ok: true, dryRun: true, ...document });
    return 0;
  }
  const { rows, matrix } = batch.spec;
  const fields = differingFields(rows);
  await showTable(
    planColumns(fields),
    rows.map((row) => planCells(row, fields, session)),
    session,
  );
  const facts = planFacts(plan, matrix);
  await console.note([`${planText(facts)}, nothing was sent`, estimateText(facts)].filter(Boolean));
  return 0;
}

async function showComparison(
  batch: CheckedBatch,
  results: readonly RowResult[],
  result: ShownResult,
  session: Session,
): Promise<void> {
  if (session.options.json) {
    const { sheet, counts } = result;
    const cells = results.map((rowResult) => rowJson(rowResult, COMMAND_VOCABULARY));
    const document = { cells, skipped: skippedJson(batch), credits: summaryJson(result).credits };
    return session.console.json({
      ok: counts.isComplete,
      ...document,
      ...(sheet !== undefined && { sheet }),
    });
  }
  const fields = differingFields(batch.spec.rows);
  const columns: TableColumn[] = [
    ...planColumns(fields),
    { heading: "SECONDS", omitFirst: true, neverCut: true },
    { heading: "SIZE", omitFirst: true, neverCut: true, omitIfConstant: true },
    { heading: "FILE", minWidth: 12 },
  ];
  const rows = results.map((rowResult): TableCell[] => {
    const elapsedMs = rowResult.report?.elapsedMs ?? null;
    const file = rowResult.report?.files[0];
    return [
      ...planCells(rowResult.row, fields, session),
      elapsedMs === null ? "-" : (elapsedMs / 1000).toFixed(1),
      file ? `${file.width}×${file.height}` : "-",
      file?.path ? { path: file.path } : `${rowStateText(rowResult)}: ${rowResult.error?.message ?? ""}`,
    ];
  });
  await showTable(columns, rows, session);
  await showSummary(result, session);
}

function skippedJson({ skipped }: CheckedBatch): object[] {
  return skipped.map(({ input: { model = null, ratio = null, quality = null, fields }, reason }) => {
    const hasFields = fields !== undefined && Object.keys(fields).length > 0;
    return { model, ratio, quality, ...(hasFields && { fields }), reason };
  });
}

const MAX_LISTED = 2;
/** Maximum number of lines about skipped combinations, after the line with the number of skipped combinations. */
const MAX_LINES = 3;

const DEFAULT_MODEL_TEXT = "the default model";

/** Many combinations are grouped by model, in four lines. */
function skippedLines({ spec: { rows }, skipped }: CheckedBatch, session: Session): string[] {
  if (skipped.length <= MAX_LISTED)
    return skipped.map(({ input: { model = DEFAULT_MODEL_TEXT, ratio, quality }, reason }) => {
      const name = [model, ratio, quality].filter(Boolean).join(" ");
      return `Skipped ${name}: ${reason}`;
    });
  const reasons = new Map<string, string[]>();
  for (const {
    input: { model = DEFAULT_MODEL_TEXT },
    reason,
    limit,
  } of skipped)
    reasons.set(model, [
      ...(reasons.get(model) ?? []),
      limit === null ? reason.replace(/\.$/, "") : limitText(limit),
    ]);
  const models = [...reasons];
  const firstModels = models.length > MAX_LINES ? models.slice(0, MAX_LINES - 1) : models;
  const otherModels = models.slice(firstModels.length);
  const lines = [
    `${skipped.length} of ${rows.length + skipped.length} combinations are skipped:`,
    ...firstModels.map(([model, each]) => `  ${each.length} of ${model}: ${[...new Set(each)].join("; ")}.`),
  ];
  if (otherModels.length === 0) return lines;
  const count = otherModels.reduce((sum, [, reasons]) => sum + reasons.length, 0);
  const command = `${session.commandLine("--dry-run", ["--json"])} --json`;
  return [...lines, `  ${count} more of ${otherModels.length} other models. To list all: ${command}`];
}

function limitText({ field, allowed }: Limit): string {
  if (allowed.length === 0) return `no ${field}`;
  return `${field === "ratio" ? "ratios" : "qualities"} ${allowed.join(", ")} only`;
}
