import type { TaskReport } from "../../core/task/report.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { Session } from "../app/session.ts";
import { columnsOf } from "./columns.ts";
import type { WholeLine } from "./fold.ts";
import { shortPath } from "./short-path.ts";
import { hasSymbols, SAVED_MARK } from "./symbols.ts";
import { creditsText, savedWord } from "./text.ts";
import { roomOn } from "./wrap.ts";

/** What was saved, for a person at a terminal: each image, and for several what they cost together. */
export function savedLines(
  { files, credits, elapsedMs }: TaskReport,
  { context }: Session,
  which: string,
): (string | WholeLine)[] {
  const mark = hasSymbols(context.env) ? `${SAVED_MARK} ` : "";
  const costs = [creditsText(credits), ...(elapsedMs === null ? [] : [formatDuration(elapsedMs)])];
  const lines = files.flatMap(({ path, width, height }) => {
    const name = path === null ? "to standard output" : shortPath(path, context);
    const facts = [...(width ? [`${width}×${height}`] : []), ...(files.length === 1 ? costs : [])];
    return withFacts(`${mark}${which}${savedWord(which)} ${name}`, facts.join(", "), roomOn(context.stderr));
  });
  return files.length === 1 ? lines : [...lines, `${files.length} images, ${costs.join(", ")}`];
}

/** Facts in brackets after a text, or below it where there is no room beside it. */
function withFacts(whole: string, facts: string, columns: number): (string | WholeLine)[] {
  if (facts === "") return [{ whole }];
  const beside = `${whole} (${facts})`;
  return columnsOf(beside) <= columns ? [beside] : [{ whole }, `  ${facts}`];
}
