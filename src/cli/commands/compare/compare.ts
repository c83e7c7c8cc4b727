import type { Command } from "commander";
import { rowJson, summaryJson } from "../../../client/batch-json.ts";
import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import type { BatchResult } from "../../../core/batch/batch-spec.ts";
import { type Cell, type Comparison, compareCells, requireKnownValues } from "../../../core/batch/compare.ts";
import { add, noCost } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { checkBatchBudget } from "../../../core/limits/budget.ts";
import type { PrivateCopies } from "../../../core/references/private-copies.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import { FLAG_LABELS } from "../../../models/labels.ts";
import type { GivenFields } from "../../../task/request-fields.ts";
import {
  addBatchOptions,
  addBatchOutputOptions,
  type BatchFlags,
  type BatchTerms,
  batchTerms,
} from "../../flags/batch-flags.ts";
import { addFieldOption, type RequestFlags } from "../../flags/request-flags.ts";
import { readPrompt } from "../../input/prompt.ts";
import { collect, OPTION_GROUPS, type RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { showTable } from "../../text/table.ts";
import { costText } from "../batch/costs.ts";
import { runShown } from "../batch/run-shown.ts";
import { exitCodeOfBatch, summaryLines } from "../batch/summary.ts";
import { COLUMNS, comparedRows, labelOf, PLAN_COLUMNS, plannedRows, skippedLines } from "./view.ts";

interface CompareOptions extends BatchFlags, Pick<RequestFlags, "image"> {
  model?: string[];
  ratio?: string[];
  quality?: string[];
}

/** What is the same for all cells. How many images one makes is left to the service. */
type SharedFields = Required<Omit<GivenFields, "prompt" | keyof Cell | "maxImages">>;

const TEMPLATE = "{slug}-{model}-{ratio}-{quality}-{task}.{ext}";

const EXAMPLES = `
Examples:
  $ imggen compare "a red fox" -m gamma-image-2,z-image --sandbox
  $ imggen compare "a red fox" -m gamma-image-2 -r 1:1,16:9 -q 1K,2K --dry-run
  $ imggen compare "a red fox" -m alpha-2,gamma-image-2 -q 1K --output compared/`;

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("<prompt>", "what the images show; - reads it from standard input")
    .optionsGroup(OPTION_GROUPS.request)
    .option("-m, --model <ids>", "models, comma-separated, see imggen models", collect)
    .option("-r, --ratio <ratios>", "aspect ratios, comma-separated", collect)
    .option("-q, --quality <qualities>", "qualities, comma-separated", collect);
  addFieldOption(command, "image").option("--no-validate", "skip validation against the model matrix");
  addBatchOptions(addBatchOutputOptions(command)).addHelpText("after", EXAMPLES).action(runWith(runCompare));
}

async function runCompare(session: Session, given: string, flags: CompareOptions): Promise<number> {
  const axes = {
    models: await axis("model", flags.model, session),
    ratios: await axis("ratio", flags.ratio, session),
    qualities: await axis("quality", flags.quality, session),
  };
  const matrix = await session.matrix();
  const [model] = axes.models;
  const generator = await session.generatorTerms({ model, dryRun: flags.dryRun });
  // What a generator has beside those, only it knows.
  if (flags.validate && generator === null) requireKnownValues(axes, matrix);
  const prompt = await readPrompt(given, undefined, session.context);
  const shared: SharedFields = { image: flags.image };
  const copies = generator && (await copiesForGenerator(session));
  const checks = { matrix, validate: flags.validate, generator, copies };
  const comparison = await compareCells(prompt, axes, shared, checks);
  if (comparison.rows.length === 0) throw nothingAllowed(comparison);
  for (const { checked } of comparison.rows)
    for (const warning of checked.warnings) await session.console.warn(warning);
  const skipped = skippedLines(comparison, session);
  if (skipped.length > 0 && !session.options.json) await session.console.note(skipped);
  const terms = await batchTerms(flags, session, { template: TEMPLATE });
  if (flags.dryRun) return dryRun(comparison, terms, session);
  const spec = {
    ...terms,
    rows: comparison.rows,
    copies,
    shard: null,
    // Comparisons in one folder have nothing to do with each other.
    budgetOf: "rows" as const,
    nameOf: ({ checked }: CheckedRow) => labelOf(checked.request),
    // One document, and only of the whole.
    onCutOff: null,
  };
  const ends: RowResult[] = [];
  const result = await runShown(spec, session, async (end) => void ends.push(end));
  ends.sort((a, b) => a.row.row - b.row.row);
  const sheet = flags.sheet
    ? await (await import("../batch/sheet.ts")).makeSheet(ends, spec.output, session)
    : undefined;
  await showCompared({ comparison, ends, result, sheet }, session);
  return exitCodeOfBatch(result);
}

/** The files themselves, which the user's own generator takes, in place of URLs. */
async function copiesForGenerator(session: Session): Promise<PrivateCopies | null> {
  const references = await import("../generate/references.ts");
  return references.copiesForGenerator(session, FLAG_LABELS.image, session.context.resolvePath);
}

interface Compared {
  comparison: Comparison;
  /** In the order of the cells. */
  ends: readonly RowResult[];
  result: BatchResult;
  /** The contact sheet's path; null if none could be made, undefined if none was asked for. */
  sheet: string | null | undefined;
}

/** The whole as one document for a script, or as a table for a person. */
async function showCompared({ comparison, ends, result, sheet }: Compared, session: Session): Promise<void> {
  if (session.options.json) {
    const { credits } = summaryJson(result);
    await session.json({
      ok: result.counts.isComplete,
      cells: ends.map((end) => rowJson(end, FLAG_NAMES)),
      skipped: skippedJson(comparison),
      credits,
      ...(sheet !== undefined && { sheet }),
    });
  } else {
    await showTable(COLUMNS, comparedRows(ends), session);
    for (const line of summaryLines(result, session)) await session.console.note(line);
    if (sheet) await (await import("../batch/sheet.ts")).showSheet(sheet, session);
  }
}

/** The values of one axis: the flag's, or the one that the settings name. @throws UsageError if the flag names none */
async function axis(
  name: "model" | "ratio" | "quality",
  flag: string[] | undefined,
  { settings }: Session,
): Promise<string[]> {
  const isOfService = name === "model" && settings.generator() !== undefined;
  const setting = flag === undefined && !isOfService ? await settings.get(name) : undefined;
  const values = (flag ?? [setting?.value ?? ""]).flatMap((each) => each.split(","));
  const given = [...new Set(values.map((value) => value.trim()).filter((value) => value !== ""))];
  if (flag !== undefined && given.length === 0) {
    throw new UsageError(`${FLAG_LABELS[name]} is empty.`, {
      hint: "Nothing was sent. Name at least one, or omit it for the default.",
    });
  }
  return given;
}

function nothingAllowed({ skipped }: Comparison): UsageError {
  const [first] = skipped;
  const more = skipped.length > 1 ? ` (and ${skipped.length - 1} more)` : "";
  return new UsageError(`Nothing is left to compare: ${first?.reason}${more}`, {
    hint: "Nothing was sent. imggen models shows what each model takes.",
  });
}

function skippedJson({ skipped }: Comparison): object[] {
  return skipped.map(({ cell: { model, ratio, quality }, reason }) => ({
    model: model ?? null,
    ratio: ratio ?? null,
    quality: quality ?? null,
    reason,
  }));
}

async function dryRun(comparison: Comparison, terms: BatchTerms, session: Session): Promise<number> {
  const toSubmit = noCost();
  for (const { checked } of comparison.rows) add(toSubmit, checked.credits);
  const batch = { toSubmit, charged: noCost(), chargedForOthers: noCost() };
  if (terms.cap !== null) checkBatchBudget(batch, terms.cap, terms);
  if (!session.options.json) {
    await showTable(PLAN_COLUMNS, plannedRows(comparison), session);
    await session.console.note(`${costText(toSubmit)}, nothing was sent`);
    return 0;
  }
  await session.json({
    ok: true,
    dryRun: true,
    cells: comparison.rows.map(({ checked: { request, credits } }) => ({ request, credits })),
    skipped: skippedJson(comparison),
    credits: toSubmit.undocumented > 0 ? null : toSubmit.credits,
  });
  return 0;
}
