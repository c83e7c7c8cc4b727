import type { TaskReport } from "../../core/task/report.ts";
import type { Session } from "../app/session.ts";
import { columnsOf } from "./columns.ts";
import type { WholeLine } from "./fold.ts";
import { shortPath } from "./short-path.ts";
import { hasSymbols, SAVED_MARK } from "./symbols.ts";
import { costsOf, savedWord } from "./text.ts";
import { roomOn } from "./wrap.ts";

/** What was saved, for a person at a terminal: each image, and for several what they cost together. */
export function savedLines(report: TaskReport, { context }: Session, which: string): (string | WholeLine)[] {
  const mark = hasSymbols(context.env) ? `${SAVED_MARK} ` : "";
  const { files } = report;
  const costs = costsOf(report);
  const lines = files.flatMap(({ path, width, height }) => {
    const name = path === null ? "to standard output" : shortPath(path, context);
    const facts = [...(width ? [`${width}×${height}`] : []), ...(files.length === 1 ? costs : [])];
    return withFacts(
      `${mark}${which}${savedWord(which, report)} ${name}`,
      facts.join(", "),
      roomOn(context.stderr),
    );
  });
  if (files.length === 1 || costs.length === 0) return lines;
  return [...lines, `${files.length} images, ${costs.join(", ")}`];
}

/** Facts in brackets after a text, or on a line below it if the terminal is too narrow. */
function withFacts(whole: string, facts: string, columns: number): (string | WholeLine)[] {
  if (facts === "") return [{ whole }];
  const beside = `${whole} (${facts})`;
  return columnsOf(beside) <= columns ? [beside] : [{ whole }, `  ${facts}`];
}
