import { createHash } from "node:crypto";
import { existsSync, lstatSync } from "node:fs";
import path from "node:path";
import type { BatchSpec } from "../../../core/batch/batch-spec.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { numberedPath } from "../../../core/images/file-name.ts";
import { contactSheet, isContactSheet, type SheetRow } from "../../../graphics/contact-sheet.ts";
import { UndecodableError } from "../../../graphics/decoder.ts";
import { errorText } from "../../../lib/error-text.ts";
import { readHead } from "../../../lib/read-file.ts";
import { createWhole, replaceWhole } from "../../../lib/write-whole.ts";
import { differingSettings, ownSettings } from "../../../task/request.ts";
import { withFacts } from "../../output/render.ts";
import type { Session } from "../../session/session.ts";
import { roomOn } from "../../text/fit.ts";
import { creditsText } from "../../text/phrases.ts";
import { rowWord } from "./row-notes.ts";

/** More would be too small to see. */
const MOST_CELLS = 200;
const NAME = "contact-sheet.png";

/** Says where the contact sheet is: on a line of its own where it has no room beside its name. */
export async function showSheet(sheet: string, { console, context }: Session): Promise<void> {
  await console.note(await withFacts("Contact sheet:", sheet, "", roomOn(context.stderr)));
}

/**
 * Makes one picture of all rows, each with what it differs in. A failure is only a warning: the images are saved.
 * @returns its path; null if there is none
 */
export async function makeSheet(
  ends: readonly RowResult[],
  { output: { folder, overwrite }, budgetOf }: Pick<BatchSpec, "output" | "budgetOf">,
  session: Session,
): Promise<string | null> {
  const { console, context } = session;
  const shown = [...ends].sort((a, b) => a.row.row - b.row.row).slice(0, MOST_CELLS);
  if (shown.length === 0) return null;
  if (ends.length > MOST_CELLS) await console.warn(`The contact sheet shows the first ${MOST_CELLS} rows.`);
  try {
    // A folder has one batch, and any number of comparisons.
    const of = budgetOf === "folder" ? "batch" : digestOf(shown);
    const differing = differingSettings(shown.map(({ row }) => row.checked.request));
    const entries = shown.map((end) => entryOf(end, differing));
    const sheet = await contactSheet({ ...layOutSheet(entries), of });
    const target = path.join(folder, NAME);
    if (!overwrite) return await writeNumbered(target, sheet, of, context.fileMode);
    await replaceWhole(target, sheet, context.fileMode);
    return target;
  } catch (error) {
    const why = error instanceof UndecodableError ? error.message : errorText(error);
    await console.warn(`No contact sheet was made: ${why}.`);
    return null;
  }
}

/** Digest of what the rows ask for. */
function digestOf(rows: readonly RowResult[]): string {
  const keys = rows.map(({ row }) => row.key).join("\n");
  return createHash("sha256").update(keys).digest("hex").slice(0, 16);
}

/** Replaces the sheet of an earlier run of the same rows, and nothing else. */
async function writeNumbered(target: string, sheet: Buffer, of: string, mode: number): Promise<string> {
  for (let number = 1; ; number++) {
    const file = numberedPath(target, number);
    if (!existsSync(file) && (await createWhole(file, sheet, mode))) return file;
    if (!isFile(file) || !isContactSheet(readHead(file), of)) continue;
    await replaceWhole(file, sheet, mode);
    return file;
  }
}

/** Whether it is a file itself, and not a link to one. */
function isFile(file: string): boolean {
  return lstatSync(file, { throwIfNoEntry: false })?.isFile() ?? false;
}

/** @param differing settings of a generator's own in which the rows differ */
function entryOf(end: RowResult, differing: readonly string[]): SheetEntry {
  const { request, credits } = end.row.checked;
  const { prompt, model, ratio = null, quality = null } = request;
  const values = ownSettings(request);
  const settings = differing.flatMap((name) => (name in values ? `${name}=${values[name]}` : []));
  const elapsedMs = end.report?.elapsedMs ?? null;
  const seconds = elapsedMs === null ? [] : `${(elapsedMs / 1000).toFixed(1)} s`;
  const word = end.state === "saved" ? [] : rowWord(end);
  const image = end.report?.files[0]?.path ?? null;
  return {
    image,
    prompt,
    model,
    ratio,
    quality,
    settings: settings.length > 0 ? settings.join(" ") : null,
    cost: creditsText(credits, end.report?.free),
    end: [seconds, word].flat().join(" · "),
  };
}

/** Facts that may distinguish a picture of a contact sheet from the others. */
const FACTS = ["prompt", "model", "ratio", "quality", "settings", "cost"] as const;
type Fact = (typeof FACTS)[number];

/** A picture of a contact sheet, and what is known of it. */
export type SheetEntry = Readonly<Record<Fact, string | null>> & {
  /** Its file; null if there is none. */
  image: string | null;
  /** How it ended, for below it. */
  end: string;
};

export interface SheetLayout {
  /** What all pictures have in common, once. */
  top: string[];
  rows: SheetRow[];
}

const LONGEST_PROMPT = 400;
const LONGEST_LABEL = 110;
/** More would make a strip of a sheet. */
const MOST_COLUMNS = 12;

/**
 * Places pictures on a sheet, each above what it differs in. Of one prompt over several models, ratios or qualities, a
 * row is a model (or else a ratio), and a column what it was combined with.
 */
export function layOutSheet(entries: readonly SheetEntry[]): SheetLayout {
  const differing = FACTS.filter((fact) => new Set(entries.map((entry) => entry[fact])).size > 1);
  const common = (facts: readonly Fact[]) =>
    listed(
      entries[0],
      facts.filter((fact) => !differing.includes(fact)),
    );
  const settings = common(["model", "ratio", "quality", "cost"]).replace(/credits?$/, "$& each");
  const top = [shortened(common(["prompt"]), LONGEST_PROMPT), settings].filter((line) => line !== "");
  const rows = tableOf(entries, differing) ?? gridOf(entries, differing);
  return { top, rows };
}

/** Null where the settings that differ do not span a table. */
function tableOf(entries: readonly SheetEntry[], differing: readonly Fact[]): SheetRow[] | null {
  const [first, ...others] = differing.filter((fact) => fact !== "cost");
  if (first === undefined || first === "prompt" || others.length === 0) return null;
  const heading = (entry: SheetEntry) => entry[first] ?? `default ${first}`;
  const column = (entry: SheetEntry) => listed(entry, others);
  const columns = [...new Set(entries.map(column))];
  const places = new Map(entries.map((entry) => [`${heading(entry)}\n${column(entry)}`, entry]));
  if (columns.length > MOST_COLUMNS || places.size < entries.length) return null;
  const below = differing.filter((fact) => fact !== first);
  return [...new Set(entries.map(heading))].map((name) => ({
    heading: name,
    cells: columns.map((each) => {
      const entry = places.get(`${name}\n${each}`);
      return entry === undefined ? null : cellOf(entry, below);
    }),
  }));
}

function gridOf(entries: readonly SheetEntry[], differing: readonly Fact[]): SheetRow[] {
  const columns = Math.ceil(Math.sqrt(entries.length));
  const cells = entries.map((entry) => cellOf(entry, differing));
  return Array.from({ length: Math.ceil(cells.length / columns) }, (_, at) => ({
    heading: null,
    cells: cells.slice(at * columns, (at + 1) * columns),
  }));
}

function cellOf(entry: SheetEntry, differing: readonly Fact[]): SheetRow["cells"][number] {
  const prompt = shortened(differing.includes("prompt") ? (entry.prompt ?? "") : "", LONGEST_LABEL);
  const settings = differing.filter((fact) => fact !== "prompt");
  const facts = [listed(entry, settings), entry.end].filter((text) => text !== "").join(" · ");
  const label = [prompt, facts].filter((text) => text !== "").join("\n");
  return { image: entry.image, label };
}

function listed(entry: SheetEntry | undefined, facts: readonly Fact[]): string {
  return facts.flatMap((fact) => entry?.[fact] ?? []).join(" · ");
}

function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).trimEnd()}…` : text;
}
