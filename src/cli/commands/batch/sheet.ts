import { promises } from "node:fs";
import path from "node:path";
import type { OutputFolder } from "../../../core/batch/batch-row.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { numberedPath } from "../../../core/images/file-name.ts";
import { reserveName } from "../../../core/images/published-names.ts";
import { contactSheet } from "../../../graphics/contact-sheet.ts";
import { UndecodableError } from "../../../graphics/decoder.ts";
import { removeIfPossible } from "../../../lib/durable.ts";
import { errorText } from "../../../lib/error-text.ts";
import { publish } from "../../../lib/publish.ts";
import { randomDigits } from "../../../lib/write-whole.ts";
import { withFacts } from "../../output/render.ts";
import type { Session } from "../../session/session.ts";
import { roomOn } from "../../text/fit.ts";
import { creditsText } from "../../text/phrases.ts";
import { rowWord } from "./row-notes.ts";
import { layOutSheet, type SheetEntry } from "./sheet-layout.ts";

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
  { folder, overwrite }: OutputFolder,
  session: Session,
): Promise<string | null> {
  const { console, context } = session;
  const shown = [...ends].sort((a, b) => a.row.row - b.row.row).slice(0, MOST_CELLS);
  if (shown.length === 0) return null;
  if (ends.length > MOST_CELLS) await console.warn(`The contact sheet shows the first ${MOST_CELLS} rows.`);
  const temporary = path.join(folder, `.imggen-sheet-${randomDigits()}.part`);
  try {
    await promises.writeFile(temporary, await contactSheet(layOutSheet(shown.map(entryOf))), {
      flag: "wx",
      mode: context.fileMode,
    });
    const target = path.join(folder, NAME);
    if (!overwrite) return await publishNumbered(temporary, target, session);
    await promises.rename(temporary, target);
    return target;
  } catch (error) {
    const why = error instanceof UndecodableError ? error.message : errorText(error);
    await console.warn(`No contact sheet was made: ${why}.`);
    return null;
  } finally {
    removeIfPossible(temporary);
  }
}

async function publishNumbered(temporary: string, target: string, { context }: Session): Promise<string> {
  const reserve = (name: string) => reserveName(name, context.processes);
  for (let number = 1; ; number++) {
    const file = numberedPath(target, number);
    if ((await publish(temporary, file, reserve)) === "published") return file;
  }
}

function entryOf(end: RowResult): SheetEntry {
  const { request, credits } = end.row.checked;
  const { prompt, model, ratio = null, quality = null } = request;
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
    cost: creditsText(credits),
    end: [seconds, word].flat().join(" · "),
  };
}
