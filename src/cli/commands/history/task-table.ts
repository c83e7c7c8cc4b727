import type { TaskReport } from "../../../core/task/report.ts";
import { historyStatus } from "../../../core/use-cases/history-filter.ts";
import { ageText, localMinute } from "../../../lib/local-time.ts";
import { shortTaskIds } from "../../../task/record.ts";
import type { Session } from "../../session/session.ts";
import type { TextStyleName } from "../../text/colors.ts";
import { shortPath } from "../../text/phrases.ts";
import type { TableCell, TableColumn } from "../../text/table.ts";
import { type CellStyle, showTable } from "../../text/table.ts";

const STATUS: TableColumn = { heading: "STATUS", whole: true };
const COLUMNS: readonly TableColumn[] = [
  { heading: "SUBMITTED", spare: true, whole: true },
  { heading: "TASK", keep: true },
  STATUS,
  { heading: "CREDITS", spare: true, whole: true },
  { heading: "PROMPT", least: 8 },
  { heading: "FILE", least: 12 },
];

/** What the table needs of a task. */
interface TaskRow {
  submittedAt: string | null;
  id: string;
  status: string;
  credits: number | null;
  prompt: string;
  file: TableCell;
}

export function taskRow(report: TaskReport, context: Session["context"]): TaskRow {
  const { submittedAt, taskId, ledgerId, state, credits, request } = report;
  return {
    submittedAt,
    id: taskId ?? ledgerId ?? "",
    status: historyStatus(state),
    credits,
    prompt: request?.prompt ?? "",
    file: fileCell(report, context),
  };
}

/** Shows tasks as a table. On a terminal times and ids are shortened, in a pipe they are complete. */
export async function showTasks(tasks: readonly TaskRow[], session: Session): Promise<void> {
  const { stdout, clock } = session.context;
  const ids = tasks.map(({ id }) => id);
  const shown = stdout.isTTY ? shortTaskIds(ids) : ids;
  const timeText = stdout.isTTY ? (date: Date) => ageText(date, clock.now()) : localMinute;
  const rows = tasks.map(({ submittedAt, status, credits, prompt, file }, at) => [
    submittedAt === null ? "" : timeText(new Date(submittedAt)),
    shown[at] ?? "",
    status,
    credits === null ? "?" : String(credits),
    prompt,
    file,
  ]);
  await showTable(COLUMNS, rows, session, styleOf);
}

/** The first file and how many there are besides; why there is none. */
function fileCell({ files, state, error }: TaskReport, context: Session["context"]): TableCell {
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
