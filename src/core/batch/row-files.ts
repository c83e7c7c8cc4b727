import { promises } from "node:fs";
import path from "node:path";
import { mapConcurrent } from "../../lib/concurrency.ts";
import { UsageError } from "../../lib/error-types.ts";
import { canonicalFolder, isBelow } from "../../lib/real-folder.ts";
import type { Destination, SaveOptions } from "../../task/intent.ts";
import type { Task } from "../../task/task.ts";
import type { ManifestProblem } from "../errors.ts";
import { DEFAULT_TEMPLATE, requireTemplate } from "../images/file-name.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import type { CheckedRow } from "./batch-row.ts";
import { type BatchPlan, type PlanDeps, type PlannedRow, planBatch } from "./plan.ts";

export interface OutputFolder extends SaveOptions {
  /** Absolute path without symbolic links. */
  folder: string;
  template: string;
}

export interface OutputFolderOptions extends SaveOptions {
  output: string | undefined;
  label: string;
  name: string | undefined;
  /** Default: `DEFAULT_TEMPLATE`. */
  template?: string;
  takesColumns?: boolean;
  resolvePath: (file: string) => string;
}

/** Returns the folder for a batch's images. @throws UsageError if the options do not describe a folder */
export async function outputFolder(options: OutputFolderOptions): Promise<OutputFolder> {
  const { output, label, name, template = DEFAULT_TEMPLATE, takesColumns = false } = options;
  if (output === "-") throw new UsageError(`${label} - is for one image; give a folder.`);
  if (output?.includes("\0")) throw new UsageError(`${label} contains a NUL character.`);
  requireTemplate(name, takesColumns);
  const folder = await canonicalFolder(options.resolvePath(output ?? "."));
  const { overwrite, sidecar } = options;
  return { folder, template: name ?? template, overwrite, ...(sidecar && { sidecar }) };
}

export function rowDestination(
  row: CheckedRow,
  { folder, template, ...saveOptions }: OutputFolder,
): Destination {
  const { output } = row;
  if (output === null) return { kind: "folder", folder, template: row.template ?? template, ...saveOptions };
  return { kind: "file", path: path.join(folder, output), ...saveOptions };
}

/** Returns the destination of a row's images if the output folder was moved, with the same names; otherwise null. */
export function movedDestination(
  row: CheckedRow,
  { intent }: Pick<Task, "intent">,
  base: OutputFolder,
): Destination | null {
  const { destination } = intent;
  const current = rowDestination(row, base);
  // A task from `rerun` can have a different kind of destination, which is kept.
  if (destination.kind !== current.kind || destinationFolder(destination) === destinationFolder(current))
    return null;
  if (destination.kind === "file") return { ...current, overwrite: destination.overwrite };
  return { ...destination, folder: base.folder };
}

export function destinationFolder(destination: Destination): string {
  return destination.kind === "file" ? path.dirname(destination.path) : destination.folder;
}

const STAT_CONCURRENCY = 32;

export async function planWithFiles(
  rows: readonly CheckedRow[],
  base: OutputFolder,
  deps: PlanDeps,
): Promise<{ plan: BatchPlan; misplaced: ManifestProblem[] }> {
  let suspects = new Set<number>();
  for (;;) {
    const plan = await planBatch(rows, deps);
    const problems = await findMisplaced(plan.rows, base);
    // A problem must occur in two plans, because another process might have saved the row after the first plan.
    const misplaced = problems.filter(({ line }) => suspects.has(line));
    if (problems.length === 0 || misplaced.length > 0) return { plan, misplaced };
    suspects = new Set(problems.map(({ line }) => line));
  }
}

/** Finds rows whose file exists already, or whose folder is outside the output folder. */
export async function findMisplaced(
  rows: readonly PlannedRow[],
  base: OutputFolder,
): Promise<ManifestProblem[]> {
  const problems = await mapConcurrent(rows, STAT_CONCURRENCY, (row) => findProblem(row, base));
  return problems.filter((problem) => problem !== null);
}

async function findProblem(row: PlannedRow, base: OutputFolder): Promise<ManifestProblem | null> {
  const { line, output, state } = row;
  if (output === null) return null;
  const file = path.join(base.folder, output);
  const folder = await canonicalFolder(path.dirname(file));
  if (!isBelow(folder, base.folder))
    return { line, message: `output ${JSON.stringify(output)} is outside ${base.folder}.` };
  if (state !== "new" || base.overwrite || !(await promises.lstat(file).catch(() => null))) return null;
  return { line, message: `output ${JSON.stringify(output)} exists already.` };
}

export async function prepareFolders(rows: readonly CheckedRow[], base: OutputFolder): Promise<void> {
  const folders = new Map<string, CheckedRow>();
  for (const row of rows) folders.set(row.output === null ? "." : path.dirname(row.output), row);
  // The folders are prepared one after another, so that no check is still running after an error.
  for (const row of folders.values()) await prepareDestination(rowDestination(row, base));
}
