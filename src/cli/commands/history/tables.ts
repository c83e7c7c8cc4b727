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
const SUBMITTED: readonly TableColumn[] = [
  { heading: "SUBMITTED", omitFirst: true, neverCut: true },
  { heading: "TASK", required: true },
  STATUS,
  { heading: "CREDITS", omitFirst: true, neverCut: true },
];
const SEED: TableColumn = { heading: "SEED", omitFirst: true, neverCut: true };
const GENERATOR: TableColumn = { heading: "GENERATOR", omitFirst: true };
const MADE: readonly TableColumn[] = [
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
  return URL.canParse(rest) ? new URL(rest).host : redactAddress(name);
}

/** Shows tasks as a table. On a terminal times and ids are shortened, in a pipe they are complete. */
export async function showTasks(tasks: readonly TaskRow[], session: Session): Promise<void> {
  const { stdout, clock } = session.context;
  const ids = tasks.map(({ id }) => id);
  const idCells = stdout.isTTY ? shortTaskIds(ids) : ids;
  const timeText = stdout.isTTY ? (date: Date) => formatAge(date, clock.now()) : localMinute;
  const hasGenerators = tasks.some(({ generator }) => generator !== null);
  const hasSeeds = tasks.some(({ seed }) => seed !== "");
  const columns = [...SUBMITTED, ...(hasGenerators ? [GENERATOR] : []), ...(hasSeeds ? [SEED] : []), ...MADE];
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

/** The first file and how many there are besides; why there is none. */
function fileCell({ files, state, error }: TaskReport, context: Session["context"]): TableCell {
  const [first, ...others] = files;
  if (first === undefined) return state === "failed" ? shortReason(error?.message ?? "") : "";
  const name = first.path === null ? "standard output" : shortPath(first.path, context);
  return { path: others.length === 0 ? name : `${name} +${others.length}` };
}

/** The first seed and how many others there are; empty if none is known. */
function seedCell({ files }: TaskReport): string {
  const [first = "", ...others] = new Set(files.flatMap(({ seed }) => seed ?? []));
  return others.length === 0 ? String(first) : `${first} +${others.length}`;
}

/** Shortens a message that names its task, which the row does already. */
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

/** Totals of some tasks: images, and documented or possible costs. */
interface Totals {
  tasks: number;
  /** Saved ones. */
  images: number;
  /** Documented costs alone. */
  credits: number;
  /** Tasks whose cost is not documented. */
  undocumented: number;
  /** Tasks that cost nothing; absent for none. */
  free?: number;
  /** Cost and tokens that the user's generators reported, each name added up; absent if none did. */
  usage?: Record<string, number>;
}

/** One model's tasks of one day, in local time. */
interface DayTotals extends Totals {
  /** `2026-01-31`. */
  day: string;
  model: string;
}

/** Tasks added up. */
interface Sums {
  days: DayTotals[];
  total: Totals;
}

/** Adds tasks up by day and model, the newest day first, in memory that grows with those alone. Newer tasks come first. */
export async function summed(tasks: AsyncIterable<ListedTask>): Promise<Sums> {
  const total = noTotals();
  const days = new Map<string, DayTotals>();
  for await (const task of tasks) {
    const { submittedAt, request } = task.report;
    const day = localDay(new Date(submittedAt ?? 0));
    const model = request?.model ?? "";
    const key = `${day} ${model}`;
    const ofDay = days.get(key) ?? { day, model, ...noTotals() };
    days.set(key, ofDay);
    for (const totals of [ofDay, total]) count(task, totals);
  }
  return { days: [...days.values()], total };
}

function noTotals(): Totals {
  return { tasks: 0, images: 0, credits: 0, undocumented: 0 };
}

function count({ report }: ListedTask, totals: Totals): void {
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

/** Shows what tasks made and cost, by day and model. @returns how many there are */
export async function showSummary({ days, total }: Sums, session: Session): Promise<void> {
  if (total.tasks === 0) return;
  const rows = days.map((each) => [each.day, each.model, ...figures(each)]);
  await showTable(DAY_COLUMNS, [...rows, ["total", "", ...figures(total)]], session);
  if (total.usage) await session.console.result(["", usageLine(total.usage)]);
}

/** Cost and tokens as the user's generators name them. */
function usageLine(usage: Readonly<Record<string, number>>): string {
  const parts = Object.entries(usage).map(([name, value]) => `${name} ${value}`);
  return `Usage of your own generators: ${parts.join(", ")}`;
}

function figures(totals: Totals): string[] {
  return [String(totals.tasks), String(totals.images), totalCell(totals)];
}

/** `12`, `free`, `?` if no cost is documented, `12 + ?` if some are not. */
function totalCell({ tasks, credits, undocumented, free = 0 }: Totals): string {
  if (free === tasks) return "free";
  if (undocumented === 0) return String(credits);
  return undocumented + free === tasks ? "?" : `${credits} + ?`;
}
