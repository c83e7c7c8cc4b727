import type { ListedTask } from "../../../client/listed-tasks.ts";
import type { TaskReport } from "../../../core/engine/report.ts";
import { formatAge, localDay, localMinute } from "../../../lib/local-time.ts";
import { redactAddress } from "../../../lib/query-secret.ts";
import { shortTaskIds } from "../../../lib/short-task-id.ts";
import type { OpenState } from "../../../task/task.ts";
import type { Session } from "../../session/session.ts";
import type { TextStyleName } from "../../text/colors.ts";
import { creditsCell, shortPath } from "../../text/phrases.ts";
import { type CellStyle, showTable, type TableCell, type TableColumn } from "../../text/table.ts";

const STATUS: TableColumn = { heading: "STATUS", neverCut: true };
const TASK_COLUMNS: readonly TableColumn[] = [
  { heading: "SUBMITTED", omitFirst: true, neverCut: true },
  { heading: "TASK", required: true },
  STATUS,
  { heading: "CREDITS", omitFirst: true, neverCut: true },
];
const SEED: TableColumn = { heading: "SEED", omitFirst: true, neverCut: true };
const GENERATOR: TableColumn = { heading: "GENERATOR", omitFirst: true };
const RESULT_COLUMNS: readonly TableColumn[] = [
  { heading: "PROMPT", minWidth: 8 },
  { heading: "FILE", minWidth: 12 },
];

export type TaskRow = ReturnType<typeof taskRow>;

export function taskRow({ report, status, generator }: ListedTask, context: Session["context"]) {
  const { submittedAt, taskId, ledgerId, request } = report;
  return {
    submittedAt,
    id: taskId ?? ledgerId ?? "",
    status,
    credits: creditsCell(report.credits, report.free),
    generator: generator && shortGeneratorName(generator),
    seed: seedCell(report),
    prompt: request?.prompt ?? "",
    file: fileCell(report, context),
  };
}

function shortGeneratorName(name: string): string {
  const [, kind, rest = ""] = /^(\w+):(.*)$/s.exec(name) ?? [];
  if (kind === "command") return rest.split(" ", 1)[0]?.replace(/^.*[\\/]/, "") ?? "";
  return URL.canParse(rest) ? new URL(rest).host : redactAddress(name);
}

export async function showTasks(tasks: readonly TaskRow[], session: Session): Promise<void> {
  const { stdout, clock } = session.context;
  const ids = tasks.map(({ id }) => id);
  const idCells = stdout.isTTY ? shortTaskIds(ids) : ids;
  const timeText = stdout.isTTY ? (date: Date) => formatAge(date, clock.now()) : localMinute;
  const hasGenerators = tasks.some(({ generator }) => generator !== null);
  const hasSeeds = tasks.some(({ seed }) => seed !== "");
  const columns = [
    ...TASK_COLUMNS,
    ...(hasGenerators ? [GENERATOR] : []),
    ...(hasSeeds ? [SEED] : []),
    ...RESULT_COLUMNS,
  ];
  const rows = tasks.map(({ submittedAt, status, credits, generator, seed, prompt, file }, at) => [
    submittedAt === null ? "" : timeText(new Date(submittedAt)),
    idCells[at] ?? "",
    status,
    credits,
    ...(hasGenerators ? [generator ?? ""] : []),
    ...(hasSeeds ? [seed] : []),
    prompt,
    file,
  ]);
  await showTable(columns, rows, session, statusStyle);
}

function fileCell({ files, state, error }: TaskReport, context: Session["context"]): TableCell {
  const [first, ...others] = files;
  if (first === undefined) return state === "failed" ? shortReason(error?.message ?? "") : "";
  const name = first.path === null ? "standard output" : shortPath(first.path, context);
  return { path: others.length === 0 ? name : `${name} +${others.length}` };
}

function seedCell({ files }: TaskReport): string {
  const [first = "", ...others] = new Set(files.flatMap(({ seed }) => seed ?? []));
  return others.length === 0 ? String(first) : `${first} +${others.length}`;
}

/** The row already shows the task id, so only the error code is needed. */
function shortReason(message: string): string {
  return /error code [^)]+/.exec(message)?.[0] ?? message;
}

const STYLES: Readonly<Record<OpenState | "completed" | "failed", TextStyleName>> = {
  completed: "saved",
  waiting: "warning",
  running: "warning",
  accepted: "warning",
  made: "warning",
  unknown: "warning",
  failed: "error",
};

const statusStyle: CellStyle = (cell, column) =>
  column === STATUS ? (Object.entries(STYLES).find(([word]) => word === cell)?.[1] ?? null) : null;

interface Totals {
  tasks: number;
  images: number;
  /** Sum of the documented costs. */
  credits: number;
  /** Number of tasks whose cost is not documented. */
  undocumented: number;
  /** Number of free tasks; undefined for 0. */
  free?: number;
  /** Sums of the costs and tokens that generators reported, by name; undefined if generators reported nothing. */
  usage?: Record<string, number>;
}

interface DayTotals extends Totals {
  day: string;
  model: string;
}

interface Sums {
  days: DayTotals[];
  total: Totals;
}

/** Newest day first. @param tasks newest first */
export async function sumUpTasks(tasks: AsyncIterable<ListedTask>): Promise<Sums> {
  const total = zeroTotals();
  const days = new Map<string, DayTotals>();
  for await (const task of tasks) {
    const { submittedAt, request } = task.report;
    const day = localDay(new Date(submittedAt ?? 0));
    const model = request?.model ?? "";
    const key = `${day} ${model}`;
    const dayTotals = days.get(key) ?? { day, model, ...zeroTotals() };
    days.set(key, dayTotals);
    for (const totals of [dayTotals, total]) addToTotals(task, totals);
  }
  return { days: [...days.values()], total };
}

function zeroTotals(): Totals {
  return { tasks: 0, images: 0, credits: 0, undocumented: 0 };
}

function addToTotals({ report }: ListedTask, totals: Totals): void {
  const { files, usage = {}, free, credits: spent } = report;
  const isFree = free !== undefined;
  const credits = isFree ? 0 : spent;
  totals.tasks += 1;
  totals.images += files.length;
  if (isFree) totals.free = (totals.free ?? 0) + 1;
  if (credits === null) totals.undocumented += 1;
  else totals.credits += credits;
  for (const [name, value] of Object.entries(usage)) {
    if (typeof value !== "number" || !Number.isFinite(value)) continue;
    totals.usage ??= {};
    totals.usage[name] = (totals.usage[name] ?? 0) + value;
  }
}

const DAY_COLUMNS: readonly TableColumn[] = [
  { heading: "DAY", neverCut: true },
  { heading: "MODEL", minWidth: 16 },
  { heading: "TASKS", omitFirst: true, neverCut: true },
  { heading: "IMAGES", omitFirst: true, neverCut: true },
  { heading: "CREDITS", required: true },
];

export async function showSummary({ days, total }: Sums, session: Session): Promise<void> {
  if (total.tasks === 0) return;
  const rows = days.map((each) => [each.day, each.model, ...totalCells(each)]);
  await showTable(DAY_COLUMNS, [...rows, ["total", "", ...totalCells(total)]], session);
  if (total.usage) await session.console.result(["", usageLine(total.usage)]);
}

function usageLine(usage: Readonly<Record<string, number>>): string {
  const parts = Object.entries(usage).map(([name, value]) => `${name} ${value}`);
  return `Usage of your own generators: ${parts.join(", ")}`;
}

function totalCells(totals: Totals): string[] {
  return [String(totals.tasks), String(totals.images), creditsTotalCell(totals)];
}

/** Formats a total: `12`, `free`, `?` if no cost is documented, `12 + ?` if some costs are undocumented. */
function creditsTotalCell({ tasks, credits, undocumented, free = 0 }: Totals): string {
  if (free === tasks) return "free";
  if (undocumented === 0) return String(credits);
  return undocumented + free === tasks ? "?" : `${credits} + ?`;
}
