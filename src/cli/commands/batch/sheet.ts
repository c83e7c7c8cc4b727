import { createHash } from "node:crypto";
import { existsSync, lstatSync } from "node:fs";
import path from "node:path";
import {
  differingNames,
  type RowValues,
  rowStateText,
  rowValues,
  valuesText,
} from "../../../client/batch-json.ts";
import type { BatchSpec } from "../../../core/batch/batch-spec.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { drawContactSheet, isContactSheet, type SheetCell } from "../../../graphics/contact-sheet.ts";
import { UndecodableError } from "../../../graphics/decoder.ts";
import { errorText } from "../../../lib/error-text.ts";
import { readHead } from "../../../lib/read-file.ts";
import { truncate } from "../../../lib/short-text.ts";
import { createAtomically, replaceAtomically } from "../../../lib/write-whole.ts";
import type { Session } from "../../session/session.ts";
import { creditsText } from "../../text/phrases.ts";

/** Maximum number of images, because more images would be too small. */
const MAX_PICTURES = 200;

/**
 * Creates a contact sheet of all rows. The images are already saved, so a failure is only a warning.
 * @returns path of the sheet; null if there are no rows, or after a failure
 */
export async function makeSheet(
  results: readonly RowResult[],
  { output: { folder, overwrite }, budgetOf }: Pick<BatchSpec, "output" | "budgetOf">,
  { console, context: { fileMode } }: Session,
): Promise<string | null> {
  const rows = results.toSorted((a, b) => a.row.row - b.row.row).slice(0, MAX_PICTURES);
  if (rows.length === 0) return null;
  if (results.length > MAX_PICTURES)
    await console.warn(`The contact sheet shows the first ${MAX_PICTURES} rows.`);
  try {
    // A folder contains only one batch, but any number of comparisons, so rows identify a comparison.
    const subject = budgetOf === "folder" ? "batch" : rowsDigest(rows);
    const sheet = await drawContactSheet({ ...layOutSheet(rows.map(sheetEntry)), subject });
    for (let number = 1; ; number++) {
      const name = number === 1 ? "contact-sheet.png" : `contact-sheet-${number}.png`;
      const file = path.join(folder, name);
      if (!overwrite && !existsSync(file) && (await createAtomically(file, sheet, fileMode))) return file;
      // Without `overwrite`, only an earlier sheet of this batch or comparison is replaced.
      if (!overwrite && !(isFile(file) && isContactSheet(readHead(file), subject))) continue;
      await replaceAtomically(file, sheet, fileMode);
      return file;
    }
  } catch (error) {
    const reason = error instanceof UndecodableError ? error.message : errorText(error);
    await console.warn(`The contact sheet could not be created: ${reason}.`);
    return null;
  }
}

function rowsDigest(rows: readonly RowResult[]): string {
  const keys = rows.map(({ row }) => row.key).join("\n");
  return createHash("sha256").update(keys).digest("hex").slice(0, 16);
}

function isFile(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

export interface SheetEntry {
  image: string | null;
  values: RowValues;
  outcomeText: string;
}

function sheetEntry(end: RowResult): SheetEntry {
  const { row, report, state } = end;
  const elapsedMs = report?.elapsedMs ?? null;
  const seconds = elapsedMs === null ? "" : `${(elapsedMs / 1000).toFixed(1)} s`;
  return {
    image: report?.files[0]?.path ?? null,
    values: { ...rowValues(row), cost: creditsText(row.checked.credits, report?.free) },
    outcomeText: joinNonEmpty([seconds, state === "saved" ? "" : rowStateText(end)], DOT),
  };
}

const MAX_PROMPT_LENGTH = 400;
const MAX_LABEL_LENGTH = 110;
const DOT = " · ";

/** Labels images with the values in which they differ. Common values are shown once, at the top. */
export function layOutSheet(entries: readonly SheetEntry[]): { top: string[]; cells: SheetCell[] } {
  const differing = differingNames(entries.map(({ values }) => values));
  const isCommon = (name: string) => !differing.includes(name);
  const settingsText = (values: RowValues, isShown: (name: string) => boolean) =>
    valuesText(
      values,
      Object.keys(values).filter((name) => name !== "prompt" && isShown(name)),
      DOT,
    );
  const common = entries[0]?.values ?? {};
  const prompt = isCommon("prompt") ? truncate(common.prompt ?? "", MAX_PROMPT_LENGTH) : "";
  const settings = settingsText(common, isCommon).replace(/credits?$/, "$& each");
  const cells = entries.map(({ image, values, outcomeText }) => {
    const cellPrompt = isCommon("prompt") ? "" : truncate(values.prompt ?? "", MAX_LABEL_LENGTH);
    const facts = joinNonEmpty([settingsText(values, (name) => !isCommon(name)), outcomeText], DOT);
    return { image, label: joinNonEmpty([cellPrompt, facts], "\n") };
  });
  return { top: [prompt, settings].filter(Boolean), cells };
}

function joinNonEmpty(parts: readonly string[], separator: string): string {
  return parts.filter(Boolean).join(separator);
}
