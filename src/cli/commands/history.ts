import type { Command } from "commander";
import { openLedger } from "../../client/open-ledger.ts";
import { recentTasks } from "../../core/task/history.ts";
import { reportOf, reportStatus, type TaskReport } from "../../core/task/report.ts";
import { wholeNumberOption } from "../../lib/whole-number.ts";
import { isResumable } from "../../task/lifecycle.ts";
import type { RunWith } from "../app/command.ts";
import type { Session } from "../app/session.ts";
import { showTable } from "../output/table.ts";
import type { Column } from "../output/table-layout.ts";
import { shorten } from "../output/text.ts";
import { describeUnreadable } from "../output/unreadable-entries.ts";
import { clientContext } from "../tasks/client-context.ts";

interface HistoryOptions {
  limit?: string;
  all?: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen history
  $ imggen history --limit 5
  $ imggen history --all --json | jq '[.[].credits] | add'`;

export function register(command: Command, runWith: RunWith): void {
  command
    .option("--limit <n>", "how many to show (default: 20)")
    .option("--all", "show every task")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runHistory));
}

async function runHistory(session: Session, { limit = "20", all }: HistoryOptions): Promise<number> {
  const most = wholeNumberOption("--limit", limit, { min: 0 });
  const { records, oddities } = await recentTasks(
    openLedger(clientContext(session)),
    all ? Number.POSITIVE_INFINITY : most,
  );
  const entries = records.map((record) => ({ ...reportOf(record), service: record.intent.service.baseUrl }));
  for (const oddity of oddities) await session.console.warn(describeUnreadable(oddity));
  if (session.options.json) await session.json(entries.map(historyJson));
  else if (entries.length > 0) await showEntries(entries, session);
  else await session.console.note("The ledger has no tasks yet.");
  return 0;
}

type HistoryEntry = TaskReport & { service: string };

function historyJson(entry: HistoryEntry): object {
  const { ledgerId, taskId, request, credits, charged, files, submittedAt, completedAt, service } = entry;
  return {
    id: ledgerId,
    taskId,
    status: reportStatus(entry),
    request,
    credits,
    charged,
    files,
    submittedAt,
    completedAt,
    service,
  };
}

const COLUMNS: readonly Column[] = [
  { heading: "SUBMITTED (UTC)" },
  { heading: "TASK", keep: true },
  { heading: "STATUS" },
  { heading: "MODEL" },
  { heading: "CREDITS" },
  { heading: "FILE OR PROMPT", keep: true, cut: "start" },
];

async function showEntries(entries: readonly HistoryEntry[], session: Session): Promise<void> {
  const rows = entries.map((entry) => [
    (entry.submittedAt ?? "").slice(0, 19).replace("T", " "),
    entry.taskId ?? entry.ledgerId ?? "",
    isResumable(entry.state) ? "unfinished" : reportStatus(entry),
    entry.request?.model ?? "",
    entry.credits === null ? "?" : String(entry.credits),
    entry.files.map(({ path }) => path ?? "standard output").join(" ") ||
      shorten(entry.request?.prompt ?? "", 40),
  ]);
  await showTable(COLUMNS, rows, session);
}
