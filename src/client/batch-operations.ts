import path from "node:path";
import type { CheckedRow } from "../core/batch/batch-row.ts";
import { type BatchSpec, DEFAULT_CONCURRENCY } from "../core/batch/batch-spec.ts";
import { checkRows, type RowDefaults, type SkippedRow } from "../core/batch/check-rows.ts";
import { type BatchPlan, isToSubmit, type RowState } from "../core/batch/plan.ts";
import { outputFolder } from "../core/batch/row-files.ts";
import { parseShard } from "../core/batch/shard.ts";
import { type ManifestEntry, type RowValues, unusedColumnWarning } from "../core/manifest/entry.ts";
import { isStream, MANIFEST_HINT, manifestFormat } from "../core/manifest/manifest-format.ts";
import { readManifest, readRows } from "../core/manifest/read-manifest.ts";
import type { WaitSettings } from "../core/polling/wait.ts";
import { createBatchPlan } from "../core/use-cases/batch.ts";
import { UsageError } from "../lib/error-types.ts";
import { expandHome } from "../lib/home-folder.ts";
import { isFolder } from "../lib/read-file.ts";
import { DEFAULT_MODEL, type Matrix } from "../models/matrix.ts";
import { fieldPairs, fieldValue } from "../models/provider-fields.ts";
import { isLocalFile } from "../models/rules/images.ts";
import { unknownModel } from "../models/rules/model.ts";
import { unknownQuality } from "../models/rules/quality.ts";
import { unknownRatio } from "../models/rules/ratio.ts";
import { FIELD_LABELS, FLAG_LABELS, type Labels, throwRefusal } from "../models/rules/rule.ts";
import type { SavedFields } from "../models/saved-fields.ts";
import type { RequestInput } from "../task/request.ts";
import type { ProviderFields } from "../task/request-fields.ts";
import { differingNames, rowValues, valuesText } from "./batch-json.ts";
import { type ClientSession, openLedger } from "./client-session.ts";
import { readSeedFlags, requireOneImageEach, SEVERAL_SEEDS } from "./given-seeds.ts";
import { outputSettings, readRequestFlags, toRequestInput, toWaitSettings } from "./given-values.ts";
import type { BatchOptions, BatchRowOptions } from "./options/call-options.ts";
import type { FlagsOf } from "./options/option.ts";
import type { BATCH, COMPARE, GENERATE, SUBMIT_MANY } from "./options/request-table.ts";
import type { DescribedRequest } from "./targets/target.ts";
import { copiesForGenerator, targetInEffect, uncheckedCap } from "./targets/target-in-effect.ts";

type Flags = FlagsOf<typeof SUBMIT_MANY>;

interface BatchCall
  extends Omit<Flags, "validate">,
    Pick<FlagsOf<typeof BATCH>, "template" | "shard">,
    Pick<FlagsOf<typeof GENERATE>, "again"> {
  validate?: boolean | undefined;
  /** Values of fields that a row does not set. */
  values: Omit<RequestInput, "prompt">;
  /** Saved values for fields that neither a row nor `values` sets. Default: `savedFields` of the session. */
  savedFields?: SavedFields;
  labels: Partial<Labels>;
  wait: WaitSettings;
  outputLabel?: string | undefined;
}

export interface CheckedBatch {
  spec: BatchSpec;
  skipped: readonly SkippedRow[];
  warnings: readonly string[];
}

export type BatchRows = Iterable<BatchRowOptions> | AsyncIterable<BatchRowOptions>;

export interface BatchKind
  extends Pick<RowDefaults, "rowLabels" | "skipsRows" | "throwsFirst" | "refusesUnused">,
    Partial<Pick<BatchSpec, "budgetOf" | "nameOf">> {
  /** Model for which the target's terms are read. Default: the model of the call, otherwise the generator's default. */
  model?: string | undefined;
  takesColumns?: boolean;
  fileName?: string;
  images?: { label?: string; resolvePath?: (file: string) => string };
}

/** @throws UsageError, ManifestError that lists every invalid row */
export async function checkManifestBatch(
  name: string,
  chunks: AsyncIterable<Uint8Array>,
  { seed, ...flags }: FlagsOf<typeof BATCH>,
  session: ClientSession,
): Promise<CheckedBatch> {
  const { resolvePath } = session.context;
  const file = resolvePath(name);
  if (name !== "-" && isFolder(file))
    throw new UsageError(`${name} is a folder, not a manifest.`, { hint: MANIFEST_HINT });
  const seedFlags = await readSeedFlags(seed, session);
  const [first, ...furtherSeeds] = seedFlags.seeds;
  if (furtherSeeds.length > 0) requireOneImageEach(flags);
  const hasSeveral = furtherSeeds.length > 0;
  const entries = readManifest(chunks, manifestFormat(name, file), {
    ...flags,
    seeds: hasSeveral ? seedFlags : undefined,
  });
  const folder = isStream(name, file) ? resolvePath(".") : path.dirname(file);
  const images = { resolvePath: (image: string) => path.resolve(folder, expandHome(image)) };
  const kind: BatchKind = { takesColumns: true, images, ...(hasSeveral && SEVERAL_SEEDS) };
  const call = readBatchCall(flags, { ...flags, seed: hasSeveral ? undefined : first }, session);
  return checkBatch(entries, call, kind, session);
}

/** @throws UsageError, ManifestError that lists every invalid row */
export async function checkBatchOfRows(
  rows: BatchRows,
  options: BatchOptions,
  session: ClientSession,
): Promise<CheckedBatch> {
  const { prompt: _none, ...values } = toRequestInput({ ...options, prompt: "" });
  const call = { ...options, values, labels: FIELD_LABELS, wait: toWaitSettings(options) };
  const nameOf = ({ line }: CheckedRow) => `row ${line}`;
  return checkBatch(readRows(rows), call, { nameOf, refusesUnused: true }, session);
}

/**
 * Skips unsupported and repeated combinations.
 * @throws UsageError for a value that no model supports, because it is probably a typing error, and the other
 * combinations would be charged
 */
export async function checkCombinations(
  rows: readonly RowValues[],
  flags: Omit<FlagsOf<typeof COMPARE>, "model" | "ratio" | "quality" | "seed">,
  session: ClientSession,
): Promise<CheckedBatch> {
  const { image, negative } = flags;
  const call = readBatchCall(flags, { image, negative }, session);
  const { values, validate } = call;
  const hasSeveralSeeds = new Set(rows.map(({ seed }) => seed)).size > 1;
  const target = await targetInEffect(session);
  const isDocumented = target.kind === "service" || target.kind === "sandbox";
  if (validate !== false && isDocumented) requireKnownValues(rows, values.model, await target.matrix());
  const kind: BatchKind = {
    fileName: `{slug}-{model}-{ratio}-{quality}${hasSeveralSeeds ? "-{seed}" : ""}-{task}.{ext}`,
    // The budget covers only these rows, because earlier comparisons in the folder had their own budgets.
    budgetOf: "rows",
    skipsRows: true,
    rowLabels: FLAG_LABELS,
    model: rows[0]?.model ?? values.model,
    images: { label: FLAG_LABELS.image },
  };
  const batch = await checkBatch(numberRows(rows), call, kind, session);
  return { ...batch, spec: { ...batch.spec, nameOf: createRowNamer(batch.spec.rows) } };
}

/**
 * Plans a batch and checks its budget. Neither connects nor writes.
 * @returns `described`: the first request as the target would send it; null if the target sends requests unchanged
 * @throws BudgetExceededError, InvalidRequestError, ManifestError
 */
export async function planBatch(
  { spec }: CheckedBatch,
  session: ClientSession,
): Promise<{ plan: BatchPlan; described: DescribedRequest | null }> {
  const target = await targetInEffect(session);
  const service = (await target.name()) ?? "";
  const { plan } = await createBatchPlan(spec, service, openLedger(session));
  const rows = plan.rows.toSorted((a, b) => a.row - b.row);
  const orderedRows = [...rows.filter(isToSubmit), ...rows.filter((row) => !isToSubmit(row))];
  const requests = orderedRows.map((row) => [spec.nameOf(row), row.checked.request] as const);
  return { plan, described: await target.describe(requests) };
}

/** Reads the options of a batch from flags, and from settings if a flag is not set. @throws UsageError */
export function readBatchCall(
  flags: Flags & Pick<FlagsOf<typeof GENERATE>, "again">,
  request: Parameters<typeof readRequestFlags>[0],
  session: ClientSession,
): BatchCall {
  const requestValues = readRequestFlags(request, session);
  const labels = Object.entries(FLAG_LABELS).filter(([name]) => name in requestValues.values);
  return {
    ...{ ...flags, ...outputSettings(flags, session), ...requestValues },
    labels: { ...Object.fromEntries(labels), ...requestValues.labels },
  };
}

export async function checkBatch(
  entries: AsyncIterable<ManifestEntry>,
  call: BatchCall,
  {
    takesColumns,
    fileName,
    images: { label = FIELD_LABELS.image, ...imageOptions } = {},
    ...kind
  }: BatchKind,
  session: ClientSession,
): Promise<CheckedBatch> {
  const { context, words, settings } = session;
  const {
    savedFields = session.savedFields,
    labels,
    name,
    template,
    validate = true,
    overwrite = false,
    sidecar,
  } = call;
  const target = await targetInEffect(session);
  const matrix = await target.matrix();
  const shard = call.shard === undefined ? null : parseShard(call.shard);
  const model = kind.model ?? call.values.model;
  const generator = await target.terms({ model, dryRun: call.dryRun, validate });
  const copies = await copiesForGenerator(session, label, imageOptions);
  const output = await outputFolder({
    ...{ output: call.output, label: call.outputLabel ?? "output", name, overwrite },
    resolvePath: context.resolvePath,
    ...(sidecar && { sidecar }),
    ...(takesColumns && { takesColumns }),
    ...(fileName !== undefined && { template: fileName }),
  });
  const values = copies
    ? { ...call.values, image: resolveImagePaths(call.values.image, context) }
    : call.values;
  const { rows, skipped, unused } = await checkRows(entries, {
    ...{ matrix, generator, copies, validate, values, labels, words, shard, template, name },
    ...(savedFields && { savedFields }),
    ...kind,
  });
  const capWarning = uncheckedCap(
    target,
    call,
    rows.map((row) => row.checked),
  );
  const spec: BatchSpec = {
    ...{ rows, copies, output, matrix, shard },
    wait: call.wait,
    concurrency: call.concurrency ?? DEFAULT_CONCURRENCY,
    resubmits: new Set(resubmittedStates(call)),
    budgetOf: kind.budgetOf ?? "folder",
    cap: call.maxCredits ?? null,
    yes: call.yes === true,
    confirmAbove: settings.confirmAbove(),
    allowUndocumented: !validate || capWarning !== null,
    nameOf: kind.nameOf ?? (({ line }) => `line ${line}`),
  };
  const warnings = [
    ...unused.map(unusedColumnWarning),
    ...rows.flatMap((row) => row.checked.warnings),
    ...(capWarning === null ? [] : [capWarning]),
  ];
  return { spec, skipped, warnings: [...new Set(warnings)] };
}

function resubmittedStates({ again, retryFailed, resubmitUnknown }: BatchCall): RowState[] {
  if (again) return ["saved", "unfinished", "failed", "unknown"];
  return [...(retryFailed ? ["failed" as const] : []), ...(resubmitUnknown ? ["unknown" as const] : [])];
}

/** Makes paths absolute from the working folder, because only paths in a manifest are relative to the manifest. */
function resolveImagePaths(
  images: readonly string[] | undefined,
  { resolvePath }: ClientSession["context"],
): string[] | undefined {
  const isPath = (image: string) => isLocalFile(image) && !/^file:/i.test(image);
  return images?.map((image) => (isPath(image) ? resolvePath(image) : image));
}

function createRowNamer(rows: readonly CheckedRow[]): BatchSpec["nameOf"] {
  const differingFields = differingNames(rows.map(rowValues)).filter((name) => name !== "prompt");
  const names = [...new Set(["model", "ratio", "quality", ...differingFields])];
  return (row) => valuesText(rowValues(row), names, " ");
}

export async function* numberRows(rows: readonly RowValues[]): AsyncGenerator<ManifestEntry> {
  for (const [at, values] of rows.entries()) yield { line: at + 1, values };
}

/** @throws UsageError for the first value that no model supports */
function requireKnownValues(
  rows: readonly RowValues[],
  defaultModel: string | undefined,
  matrix: Matrix,
): void {
  const getDistinctValues = (name: "model" | "ratio" | "quality") =>
    [...new Set(rows.map((row) => row[name]))].filter((value) => value !== undefined);
  const models = getDistinctValues("model");
  const comparedModels = models.length === 0 ? [defaultModel ?? DEFAULT_MODEL] : models;
  const refusals = [
    ...models.map((name) => unknownModel(name, FLAG_LABELS.model, matrix)),
    ...getDistinctValues("ratio").map((value) =>
      unknownRatio(value, FLAG_LABELS.ratio, matrix, comparedModels),
    ),
    ...getDistinctValues("quality").map((value) => unknownQuality(value, FLAG_LABELS.quality)),
  ];
  const first = refusals.find((refusal) => refusal !== null);
  if (first) throwRefusal(first, ["Nothing was sent.", first.hint]);
}

/**
 * Combines all values of fields. A text is split at commas, unless it is quoted or the field has several texts.
 * @throws UsageError
 */
export function fieldCombinations(
  { label, value }: { label: string; value: string },
  omittedName?: string,
): ProviderFields[] {
  const valuesByName = new Map<string, string[]>();
  for (const [name, text] of fieldPairs(label, value))
    if (name !== omittedName) valuesByName.set(name, [...(valuesByName.get(name) ?? []), text]);
  return [...valuesByName].reduce<ProviderFields[]>(
    (sets, [name, [first = "", ...others]]) => {
      const isRepeatedOrQuoted = others.length > 0 || /^".*"$/s.test(first);
      const texts = isRepeatedOrQuoted ? [first, ...others] : first.split(",").map((text) => text.trim());
      const values = [...new Set(texts)].map(fieldValue);
      return sets.flatMap((set) => values.map((each) => ({ ...set, [name]: each })));
    },
    [{}],
  );
}
