import type { TaskReport } from "../../core/task/report.ts";
import type { Session } from "../session/session.ts";
import { hasSymbols, SAVED_MARK } from "../text/colors.ts";
import { columnsOf } from "../text/columns.ts";
import type { WholeLine } from "../text/fit.ts";
import { roomOn } from "../text/fit.ts";
import { costsOf, savedWord, shortPath } from "../text/phrases.ts";

/** What was saved, for a person at a terminal: each image, and for several what they cost together. */
export function savedLines(report: TaskReport, { context }: Session, which: string): (string | WholeLine)[] {
  const mark = hasSymbols(context.env) ? `${SAVED_MARK} ` : "";
  const { files } = report;
  const costs = costsOf(report);
  const lines = files.flatMap(({ path, width, height }) => {
    const name = path === null ? "to standard output" : shortPath(path, context);
    const facts = [...(width ? [`${width}×${height}`] : []), ...(files.length === 1 ? costs : [])];
    const columns = roomOn(context.stderr);
    return withFacts(`${mark}${which}${savedWord(which, report)}`, name, facts.join(", "), columns);
  });
  if (files.length === 1 || costs.length === 0) return lines;
  return [...lines, `${files.length} images, ${costs.join(", ")}`];
}

/** A file's name after a text, and facts in brackets after it; each below what it has no room beside. */
export function withFacts(
  text: string,
  name: string,
  facts: string,
  columns: number,
): (string | WholeLine)[] {
  const whole = `${text} ${name}`;
  const beside = facts === "" ? whole : `${whole} (${facts})`;
  if (columnsOf(beside) <= columns) return [beside];
  const isTooLong = columnsOf(name) + 2 > columns;
  const named = columnsOf(whole) <= columns ? [{ whole }] : [text, { whole: isTooLong ? name : `  ${name}` }];
  return facts === "" ? named : [...named, `  ${facts}`];
}
