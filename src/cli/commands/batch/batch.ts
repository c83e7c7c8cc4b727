import path from "node:path";
import type { Command } from "commander";
import { rowJson, summaryJson } from "../../../client/batch-json.ts";
import { readRequestFlags } from "../../../client/given-values.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import { BATCH } from "../../../client/options/request-table.ts";
import { copiesForGenerator, targetInEffect } from "../../../client/targets/target-in-effect.ts";
import type { CheckedRow } from "../../../core/batch/batch-row.ts";
import type { BatchResult } from "../../../core/batch/batch-spec.ts";
import { checkRows, type RowDefaults } from "../../../core/batch/check-rows.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { parseShard } from "../../../core/batch/shard.ts";
import {
  MANIFEST_COLUMNS,
  type ManifestEntry,
  type ReadOptions,
  unknownName,
} from "../../../core/manifest/entry.ts";
import { isStream, MANIFEST_HINT, manifestFormat } from "../../../core/manifest/manifest-format.ts";
import { readManifest } from "../../../core/manifest/read-manifest.ts";
import type { PrivateCopies } from "../../../core/references/private-copies.ts";
import { openInput } from "../../../lib/disk-file.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { withHomeFolder } from "../../../lib/home-folder.ts";
import { isFolder } from "../../../lib/read-file.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { COMMAND_WORDS } from "../../../lib/wording.ts";
import { isLocalFile } from "../../../models/rules/images.ts";
import { inputChunks, standardInput } from "../../input/input-stream.ts";
import { addOptions } from "../../session/add-options.ts";
import type { RunWith } from "../../session/command.ts";
import type { Context } from "../../session/context.ts";
import type { Session } from "../../session/session.ts";
import { shortPath } from "../../text/phrases.ts";
import { batchTerms } from "./batch-flags.ts";
import { runShown } from "./run-shown.ts";
import { exitCodeOfBatch, type ShownResult, showSummary } from "./summary.ts";

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
      `${command.description()}\nColumns or keys of a manifest, in any case: ${MANIFEST_COLUMNS.join(" ")}. Only the prompt is required.\nFlags are defaults for rows that do not set a value. Other columns can be used in --template and --name.`,
    )
    .argument("<manifest|->", ".txt (a prompt a line), .jsonl, .ndjson or .csv; - reads standard input");
  addOptions(command, BATCH).addHelpText("after", EXAMPLES).action(runWith(runBatch));
}

async function runBatch(session: Session, manifest: string, flags: FlagsOf<typeof BATCH>): Promise<number> {
  const { values, saved, labels } = readRequestFlags(flags, session);
  const shard = flags.shard === undefined ? null : parseShard(flags.shard);
  const { template, name } = flags;
  const target = await targetInEffect(session);
  const matrix = await target.matrix();
  const { validate } = flags;
  const generator = await target.terms({
    model: values.model,
    dryRun: flags.dryRun,
    validate: flags.validate,
  });
  const copies = generator && (await rowCopies(manifest, session));
  const checks = { matrix, saved, generator, validate, copies };
  const ofFlags = copies ? { ...values, image: absolute(values.image, session.context) } : values;
  const defaults = { ...checks, values: ofFlags, labels, words: COMMAND_WORDS, shard, template, name };
  const source = manifestSource(manifest, { template, name }, session.context);
  const terms = await batchTerms(flags, session, { takesColumns: true });
  const { folder } = terms.output;
  const rows = await readRows(source, defaults, session);
  const spec = {
    ...terms,
    rows,
    copies,
    shard,
    budgetOf: "folder" as const,
    nameOf: ({ line }: CheckedRow) => `line ${line}`,
    onCutOff: (result: BatchResult) => showResult(result, folder, session),
  };
  if (flags.dryRun) {
    const { dryRun } = await import("./dry-run.ts");
    return dryRun(spec, session);
  }
  const result = await runShown(spec, session, (end) => showRow(end, session));
  await showResult(result, folder, session);
  return exitCodeOfBatch(result);
}

/** Reference images of a flag: unlike those of rows, their files are not beside the manifest. */
function absolute(images: readonly string[] | undefined, { resolvePath }: Context): string[] | undefined {
  const isPath = (image: string) => isLocalFile(image) && !/^file:/i.test(image);
  return images?.map((image) => (isPath(image) ? resolvePath(image) : image));
}

/** Copies of the rows' reference images for the user's own generator. A relative path is one from the manifest's folder. */
async function rowCopies(manifest: string, session: Session): Promise<PrivateCopies | null> {
  const { resolvePath } = session.context;
  const place = resolvePath(manifest);
  const folder = isStream(manifest, place) ? "." : path.dirname(place);
  const besideManifest = (file: string) => path.resolve(resolvePath(folder), withHomeFolder(file));
  return copiesForGenerator(session, "image", { resolvePath: besideManifest });
}

/** The last line for a script, or the last lines for a person. */
async function showResult(result: ShownResult, folder: string, session: Session): Promise<void> {
  const { sheet } = result;
  if (session.options.json)
    return session.console.json({ ...summaryJson(result), ...(sheet !== undefined && { sheet }) });
  await showSummary(result, session);
  const { saved, skipped } = result.counts;
  if (saved + skipped === 0 || session.context.stderr.isTTY !== true) return;
  const shown = shortPath(folder, session.context) || ".";
  await session.console.note(`To look through the images: imggen gallery ${shellWord(shown)}`);
}

/** @throws ManifestError naming every bad row */
async function readRows(
  source: AsyncIterable<ManifestEntry>,
  defaults: RowDefaults,
  session: Session,
): Promise<CheckedRow[]> {
  const { rows, unused } = await checkRows(source, defaults);
  for (const name of unused) await session.console.warn(unknownName(name));
  for (const { checked } of rows) for (const warning of checked.warnings) await session.console.warn(warning);
  return rows;
}

/**
 * A row's result on standard output: its object, or the paths of its images. A script gets those of earlier runs too; a
 * person at a terminal has seen them.
 */
async function showRow(end: RowResult, session: Session): Promise<void> {
  if (session.options.json) return session.console.json(rowJson(end, COMMAND_WORDS));
  if (end.error || (end.isSkipped && session.context.stdout.isTTY)) return;
  for (const { path } of end.report?.files ?? [])
    if (path !== null) await session.console.resultLine({ path });
}

/** The manifest at a path, or `-` for standard input. @throws UsageError if its format is not known */
export function manifestSource(
  name: string,
  options: ReadOptions,
  context: Context,
): AsyncIterable<ManifestEntry> {
  if (name === "-") return readManifest(standardInput(context), "detect", options);
  const file = context.resolvePath(name);
  if (isFolder(file)) throw new UsageError(`${name} is a folder, not a manifest.`, { hint: MANIFEST_HINT });
  const format = manifestFormat(name, file);
  const complaint = `The manifest ${name} cannot be read`;
  const chunks = inputChunks(() => openInput(file), complaint, context.signal);
  return readManifest(chunks, format, options);
}
