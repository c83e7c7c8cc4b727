import type { ListedTask } from "../../../client/listed-tasks.ts";
import { localDay } from "../../../lib/local-time.ts";
import type { Session } from "../../session/session.ts";
import { showTable, type TableColumn } from "../../text/table.ts";

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
  /** What the user's own generators said of cost and tokens, each name added up; absent where they said nothing. */
  usage?: Record<string, number>;
}

/** One model's tasks of one day, in local time. */
interface DayTotals extends Totals {
  /** `2026-01-31`. */
  day: string;
  model: string;
}

/** Adds tasks up by day and model, the newest day first, in memory that grows with those alone. Newer tasks come first. */
async function summed(tasks: AsyncIterable<ListedTask>): Promise<{ days: DayTotals[]; total: Totals }> {
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
  const isFree = free === "generator" || (free === "sandbox" && spent === null);
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
  { heading: "DAY", whole: true },
  { heading: "MODEL", least: 16 },
  { heading: "TASKS", spare: true, whole: true },
  { heading: "IMAGES", spare: true, whole: true },
  { heading: "CREDITS", keep: true },
];

/** Shows what tasks made and cost, by day and model. @returns how many there are */
export async function showSummary(tasks: AsyncIterable<ListedTask>, session: Session): Promise<number> {
  const { days, total } = await summed(tasks);
  if (session.options.json) await session.console.json({ ok: true, days, total });
  else if (total.tasks > 0) {
    const rows = days.map((each) => [each.day, each.model, ...figures(each)]);
    await showTable(DAY_COLUMNS, [...rows, ["total", "", ...figures(total)]], session);
    if (total.usage) await session.console.result(["", usageLine(total.usage)]);
  }
  return total.tasks;
}

/** What the user's own generators said, as they name it. */
function usageLine(usage: Readonly<Record<string, number>>): string {
  const parts = Object.entries(usage).map(([name, value]) => `${name} ${value}`);
  return `Usage of your own generators: ${parts.join(", ")}`;
}

function figures(totals: Totals): string[] {
  return [String(totals.tasks), String(totals.images), totalCell(totals)];
}

/** `12`, `free`, `?` where no cost is documented, `12 + ?` where some are not. */
function totalCell({ tasks, credits, undocumented, free = 0 }: Totals): string {
  if (free === tasks) return "free";
  if (undocumented === 0) return String(credits);
  return undocumented + free === tasks ? "?" : `${credits} + ?`;
}
