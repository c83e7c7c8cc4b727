import type { TaskReport } from "../../../core/task/report.ts";
import { historyStatus } from "../../../core/use-cases/history-filter.ts";
import { ageText, localMinute } from "../../../lib/local-time.ts";
import { shortTaskIds } from "../../../task/short-task-id.ts";
import type { Session } from "../../app/session.ts";
import type { TextStyleName } from "../../output/colors.ts";
import type { TableCell, TableColumn } from "../../output/table.ts";
import { type CellStyle, showTable } from "../../output/table.ts";
import { shortPath } from "../../output/text.ts";

const STATUS: TableColumn = { heading: "STATUS", whole: true };
const COLUMNS: readonly TableColumn[] = [
  { heading: "SUBMITTED", spare: true, whole: true },
  { heading: "TASK", keep: true },
  STATUS,
  { heading: "CREDITS", spare: true, whole: true },
  { heading: "PROMPT", least: 8 },
  { heading: "FILE", least: 12 },
];

/** Shows tasks as a table. On a terminal times and ids are shortened, in a pipe they are complete. */
export async function showTasks(reports: readonly TaskReport[], session: Session): Promise<void> {
  const { stdout, clock } = session.context;
  const ids = reports.map(({ taskId, ledgerId }) => taskId ?? ledgerId ?? "");
  const shown = stdout.isTTY ? shortTaskIds(ids) : ids;
  const timeText = stdout.isTTY ? (date: Date) => ageText(date, clock.now()) : localMinute;
  const rows = reports.map((report, at) => [
    report.submittedAt === null ? "" : timeText(new Date(report.submittedAt)),
    shown[at] ?? "",
    historyStatus(report.state),
    report.credits === null ? "?" : String(report.credits),
    report.request?.prompt ?? "",
    fileCell(report, session),
  ]);
  await showTable(COLUMNS, rows, session, styleOf);
}

/** The first file and how many there are besides; why there is none. */
function fileCell({ files, state, error }: TaskReport, { context }: Session): TableCell {
  const [first, ...others] = files;
  if (first === undefined) return state === "failed" ? reasonOf(error?.message ?? "") : "";
  const name = first.path === null ? "standard output" : shortPath(first.path, context);
  return { path: others.length === 0 ? name : `${name} +${others.length}` };
}

/** Of a message that names its task, which the row does already. */
function reasonOf(message: string): string {
  return /error code [^)]+/.exec(message)?.[0] ?? message;
}

const STYLES: Readonly<Record<string, TextStyleName>> = {
  completed: "saved",
  unfinished: "warning",
  unknown: "warning",
  failed: "error",
};

const styleOf: CellStyle = (cell, column) => (column === STATUS ? (STYLES[cell] ?? null) : null);
