import type { Command } from "commander";
import { readRequestFlags, valuesOf } from "../../../client/given-values.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { COMPARE } from "../../../client/options/request-table.ts";
import { copiesForGenerator, targetInEffect } from "../../../client/targets/target-in-effect.ts";
import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { counted } from "../../../lib/whole-number.ts";
import { fieldPairs, fieldValue } from "../../../models/provider-fields.ts";
import { FLAG_LABELS } from "../../../models/rules/rule.ts";
import { differingSettings } from "../../../task/request.ts";
import type { GivenFields, ProviderFields } from "../../../task/request-fields.ts";
import { readPrompt } from "../../input/read-prompt.ts";
import { addOptions } from "../../session/add-options.ts";
import type { RunWith } from "../../session/command.ts";
import type { Session } from "../../session/session.ts";
import { batchTerms } from "../batch/batch-flags.ts";
import { runShown } from "../batch/run-shown.ts";
import { exitCodeOfBatch } from "../batch/summary.ts";
import { type Cell, type Comparison, compareCells, fieldSets, requireKnownValues } from "./cells.ts";
import { labelOf, showCompared, showPlan, skippedLines } from "./view.ts";

/** What is the same for all cells. How many images one makes is left to the service. */
type SharedFields = Required<Omit<GivenFields, "prompt" | keyof Cell | "maxImages">>;

const TEMPLATE = "{slug}-{model}-{ratio}-{quality}-{task}.{ext}";

const EXAMPLES = `
Examples:
  $ imggen compare "a red fox" -m gamma-image-2,z-image --sandbox
  $ imggen compare "a red fox" -m gamma-image-2 -r 1:1,16:9 -q 1K,2K --dry-run
  $ imggen compare "a red fox" -m alpha-2,gamma-image-2 -q 1K --output compared/

With your own generator, --field seed=1,2,3,4 makes an image with each; so does any other field. More: imggen help generators`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<prompt>", "what the images show; - reads it from standard input");
  addOptions(command, COMPARE).addHelpText("after", EXAMPLES).action(runWith(runCompare));
}

async function runCompare(session: Session, text: string, flags: FlagsOf<typeof COMPARE>): Promise<number> {
  const { values: usual, saved } = readRequestFlags({}, session);
  const axes = {
    models: axis("model", flags.model, usual.model),
    ratios: axis("ratio", flags.ratio),
    qualities: axis("quality", flags.quality),
    fields: fieldSets(fieldAxes(session)),
  };
  const target = await targetInEffect(session);
  const matrix = await target.matrix();
  const [model] = axes.models;
  const generator = await target.terms({ ...flags, model });
  // What a generator has beside those, only it knows.
  if (flags.validate && generator === null) requireKnownValues(axes, matrix);
  const prompt = await readPrompt(text, undefined, session.context);
  const { model: _models, ratio: _ratios, quality: _qualities, ...otherFlags } = flags;
  const { image, seed, negative } = valuesOf(otherFlags);
  const shared: SharedFields = { image, seed, negative };
  const copies = generator && (await copiesOf(session));
  const checks = { matrix, saved, validate: flags.validate, generator, copies };
  const comparison = await compareCells(prompt, axes, shared, checks);
  if (comparison.rows.length === 0) throw nothingAllowed(comparison);
  for (const { checked } of comparison.rows)
    for (const warning of checked.warnings) await session.console.warn(warning);
  const skipped = skippedLines(comparison, session);
  if (skipped.length > 0 && !session.options.json) await session.console.note(skipped);
  const differing = differingSettings(comparison.rows.map(({ checked }) => checked.request));
  const terms = await batchTerms(flags, session, { template: TEMPLATE });
  if (flags.dryRun) return showPlan(comparison, terms, session);
  const spec = {
    ...terms,
    rows: comparison.rows,
    copies,
    shard: null,
    // Comparisons in one folder have nothing to do with each other.
    budgetOf: "rows" as const,
    nameOf: ({ checked }: CheckedRow) => labelOf(checked.request, differing),
    // One document, and only of the whole.
    onCutOff: null,
  };
  const ends: RowResult[] = [];
  const result = await runShown(spec, session, async (end) => void ends.push(end));
  ends.sort((a, b) => a.row.row - b.row.row);
  await showCompared(comparison, ends, result, session);
  return exitCodeOfBatch(result);
}

/** Copies of the reference images that are files, which the user's own generator takes. */
async function copiesOf(session: Session) {
  return copiesForGenerator(session, FLAG_LABELS.image);
}

/**
 * The values of each field that `--field` gives: those between commas, unless they are in double quotes or the field is
 * given several times, each time with one value. @throws UsageError
 */
function fieldAxes({ settings }: Session): Map<string, ProviderFields[string][]> {
  const flag = settings.flag("field");
  const pairs = flag === undefined ? [] : fieldPairs(flag.label, flag.value);
  const valuesByName = new Map<string, string[]>();
  for (const [name, value] of pairs) valuesByName.set(name, [...(valuesByName.get(name) ?? []), value]);
  const axes = [...valuesByName].map(([name, values]) => {
    const [first = "", ...others] = values;
    const isWhole = others.length > 0 || /^".*"$/s.test(first);
    const each = isWhole ? values : first.split(",").map((value) => value.trim());
    return [name, [...new Set(each)].map(fieldValue)] as const;
  });
  return new Map(axes);
}

/** The values of one axis: the flag's, or the usual one. @throws UsageError if the flag names none */
function axis(name: "model" | "ratio" | "quality", flag: string[] | undefined, usual?: string): string[] {
  const values = (flag ?? [usual ?? ""]).flatMap((each) => each.split(","));
  const chosen = [...new Set(values.map((value) => value.trim()).filter((value) => value !== ""))];
  if (flag !== undefined && chosen.length === 0) {
    throw new UsageError(`${FLAG_LABELS[name]} is empty.`, {
      hint: "Nothing was sent. Name at least one, or omit it for the default.",
    });
  }
  return chosen;
}

function nothingAllowed({ skipped }: Comparison): UsageError {
  const [reason = "", ...others] = new Set(skipped.map((cell) => cell.reason));
  const more = others.length > 0 ? ` (and ${counted(others.length, "other reason")})` : "";
  const isOfModels = skipped.some(({ limit }) => limit !== null);
  return new UsageError(`Nothing is left to compare: ${reason.replace(/\.$/, "")}${more}.`, {
    hint: isOfModels ? "Nothing was sent. imggen models shows what each model takes." : "Nothing was sent.",
  });
}
