import type { ListedTask } from "../../../client/listed-tasks.ts";
import type { TaskReport } from "../../../core/engine/report.ts";
import { ageText, localMinute } from "../../../lib/local-time.ts";
import { shownAddress } from "../../../lib/query-secret.ts";
import { shortTaskIds } from "../../../lib/short-task-id.ts";
import type { OpenWord } from "../../../task/task.ts";
import type { Session } from "../../session/session.ts";
import type { TextStyleName } from "../../text/colors.ts";
import { creditsCell, shortPath } from "../../text/phrases.ts";
import { type CellStyle, showTable, type TableCell, type TableColumn } from "../../text/table.ts";

const STATUS: TableColumn = { heading: "STATUS", whole: true };
const SUBMITTED: readonly TableColumn[] = [
  { heading: "SUBMITTED", spare: true, whole: true },
  { heading: "TASK", keep: true },
  STATUS,
  { heading: "CREDITS", spare: true, whole: true },
];
const SEED: TableColumn = { heading: "SEED", spare: true, whole: true };
const GENERATOR: TableColumn = { heading: "GENERATOR", spare: true };
const MADE: readonly TableColumn[] = [
  { heading: "PROMPT", least: 8 },
  { heading: "FILE", least: 12 },
];

/** What the table needs of a task. */
export type TaskRow = ReturnType<typeof taskRow>;

export function taskRow({ report, status, generator }: ListedTask, context: Session["context"]) {
  const { submittedAt, taskId, ledgerId, request } = report;
  return {
    submittedAt,
    id: taskId ?? ledgerId ?? "",
    status,
    credits: creditsCell(report.credits, report.free),
    // Null for a task of a service.
    generator: generator && shortName(generator),
    seed: seedCell(report),
    prompt: request?.prompt ?? "",
    file: fileCell(report, context),
  };
}

/** A server's host, or a command's program. */
function shortName(name: string): string {
  const [, kind, rest = ""] = /^(\w+):(.*)$/s.exec(name) ?? [];
  if (kind === "command") return rest.split(" ", 1)[0]?.replace(/^.*[\\/]/, "") ?? "";
  return URL.canParse(rest) ? new URL(rest).host : shownAddress(name);
}

/** Shows tasks as a table. On a terminal times and ids are shortened, in a pipe they are complete. */
export async function showTasks(tasks: readonly TaskRow[], session: Session): Promise<void> {
  const { stdout, clock } = session.context;
  const ids = tasks.map(({ id }) => id);
  const shown = stdout.isTTY ? shortTaskIds(ids) : ids;
  const timeText = stdout.isTTY ? (date: Date) => ageText(date, clock.now()) : localMinute;
  const hasGenerators = tasks.some(({ generator }) => generator !== null);
  const hasSeeds = tasks.some(({ seed }) => seed !== "");
  const columns = [...SUBMITTED, ...(hasGenerators ? [GENERATOR] : []), ...(hasSeeds ? [SEED] : []), ...MADE];
  const rows = tasks.map(({ submittedAt, status, credits, generator, seed, prompt, file }, at) => [
    submittedAt === null ? "" : timeText(new Date(submittedAt)),
    shown[at] ?? "",
    status,
    credits,
    ...(hasGenerators ? [generator ?? ""] : []),
    ...(hasSeeds ? [seed] : []),
    prompt,
    file,
  ]);
  await showTable(columns, rows, session, styleOf);
}

/** The first file and how many there are besides; why there is none. */
function fileCell({ files, state, error }: TaskReport, context: Session["context"]): TableCell {
  const [first, ...others] = files;
  if (first === undefined) return state === "failed" ? reasonOf(error?.message ?? "") : "";
  const name = first.path === null ? "standard output" : shortPath(first.path, context);
  return { path: others.length === 0 ? name : `${name} +${others.length}` };
}

/** The first seed and how many others there are; empty if none is known. */
function seedCell({ files }: TaskReport): string {
  const [first = "", ...others] = new Set(files.flatMap(({ seed }) => seed ?? []));
  return others.length === 0 ? String(first) : `${first} +${others.length}`;
}

/** Shortens a message that names its task, which the row does already. */
function reasonOf(message: string): string {
  return /error code [^)]+/.exec(message)?.[0] ?? message;
}

const STYLES: Readonly<Record<OpenWord | "completed" | "failed", TextStyleName>> = {
  completed: "saved",
  waiting: "warning",
  running: "warning",
  accepted: "warning",
  made: "warning",
  unknown: "warning",
  failed: "error",
};

const styleOf: CellStyle = (cell, column) =>
  column === STATUS ? (Object.entries(STYLES).find(([word]) => word === cell)?.[1] ?? null) : null;
