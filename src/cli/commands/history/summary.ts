import { openLedger } from "../../../client/open-ledger.ts";
import { chargedTasks } from "../../../core/use-cases/history.ts";
import type { HistoryFilter } from "../../../core/use-cases/history-filter.ts";
import { HistorySummary, type Totals } from "../../../core/use-cases/history-summary.ts";
import { describeUnreadable } from "../../../store/ledger-entry.ts";
import type { Session } from "../../session/session.ts";
import type { TableColumn } from "../../text/table.ts";
import { showTable } from "../../text/table.ts";

const COLUMNS: readonly TableColumn[] = [
  { heading: "DAY", whole: true },
  { heading: "MODEL", least: 16 },
  { heading: "TASKS", spare: true, whole: true },
  { heading: "IMAGES", spare: true, whole: true },
  { heading: "CREDITS", keep: true },
];

/**
 * Shows what tasks made and cost, by day and model.
 * @returns how many tasks were passed over because they are at another service, and how many were counted
 */
export async function showSummary(
  filter: HistoryFilter,
  session: Session,
): Promise<{ tasks: number; elsewhere: number }> {
  const summary = new HistorySummary();
  let elsewhere = 0;
  for await (const found of chargedTasks(openLedger(session), filter)) {
    if (found === "elsewhere") elsewhere += 1;
    else if ("kind" in found) await session.console.warn(describeUnreadable(found));
    else summary.add(found);
  }
  const { days, total } = summary;
  if (session.options.json) await session.json({ ok: true, days, total });
  else if (total.tasks > 0) {
    const rows = days.map((each) => [each.day, each.model, ...figures(each)]);
    await showTable(COLUMNS, [...rows, ["total", "", ...figures(total)]], session);
  }
  return { tasks: total.tasks, elsewhere };
}

function figures({ tasks, images, credits, undocumented }: Totals): string[] {
  return [String(tasks), String(images), totalCell(credits, undocumented, tasks)];
}

/** `12`, `?` where no cost is documented, `12 + ?` where some are not. */
function totalCell(credits: number, undocumented: number, tasks: number): string {
  if (undocumented === 0) return String(credits);
  return undocumented === tasks ? "?" : `${credits} + ?`;
}
