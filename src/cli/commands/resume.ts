import type { Command } from "commander";
import {
  prepareDestination,
  requireFolderForSeveral,
  resolveFileDestination,
} from "../../core/destination.ts";
import { DEFAULT_TEMPLATE } from "../../core/file-name.ts";
import type { TaskReport } from "../../core/report.ts";
import { type ResumeDeps, type ResumeOptions, resumeById, resumeRecord } from "../../core/resume.ts";
import { dismissTask } from "../../core/settle.ts";
import { mapConcurrent } from "../../lib/concurrency.ts";
import { UsageError } from "../../lib/errors.ts";
import type { TaskRecord } from "../../store/task.ts";
import type { RunWith } from "../command.ts";
import { SANDBOX_SERVICE } from "../connect.ts";
import { EXIT_CODES, worstOf } from "../exit-codes.ts";
import { reportJson } from "../json.ts";
import { openLedger } from "../ledger.ts";
import { describeOddity, type Oddity } from "../oddities.ts";
import { exitCodeOfReport, renderReport } from "../render.ts";
import type { Session } from "../session.ts";
import { withTasks } from "../tasks.ts";
import { requestTimeout, type WaitFlags, waitSettings } from "../wait-options.ts";

interface ResumeFlags extends WaitFlags {
  output?: string;
  overwrite?: boolean;
  dismiss?: boolean;
}

const EXAMPLES = `
Examples:
  $ imggen resume
  $ imggen resume task_3f9c
  $ imggen resume task_3f9c --output fox.png
  $ imggen resume 20261121T143052118-9c41d07e --dismiss`;

const AT_ONCE = 4;

export function register(command: Command, runWith: RunWith): void {
  command
    .argument("[taskId...]", "ids of tasks; none: every unfinished one")
    .option("-o, --output <path>", "save there, and not where the task was to be saved")
    .option("--overwrite", "replace existing files")
    .option("--timeout <duration>", "how long to wait for each task (default: 180s, 600s for 4K)")
    .option("--poll-interval <duration>", "look at a steady interval, 100ms or more")
    .option("--request-timeout <duration>", "limit of a single request")
    .option("--dismiss", "put requests of unknown outcome aside: they are not asked about again")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runResume));
}

async function runResume(session: Session, ids: string[], flags: ResumeFlags): Promise<number> {
  if (flags.dismiss) return runDismiss(session, ids);
  const options = await resumeOptions(flags, session);
  const resumed = await withTasks(session, requestTimeout(flags), async (deps) => {
    if (ids.length === 0) return resumeAll(options, session, deps);
    const tasks = [...new Set(ids)];
    requireFolderForSeveral(options.destination, tasks.length);
    const reports = await mapConcurrent(tasks, AT_ONCE, (id) => resumeById(id, options, deps));
    return { reports, unreadable: [] };
  });
  const exitCode = exitCodeOf(resumed);
  await show(resumed, ids, exitCode, session);
  return exitCode;
}

/** What became of the tasks, and the files of which nobody can say. */
interface Resumed {
  reports: TaskReport[];
  /** Damaged, or of a newer version: each may well be a paid task. */
  unreadable: Oddity[];
}

async function runDismiss(session: Session, ids: string[]): Promise<number> {
  if (ids.length === 0) throw new UsageError("--dismiss needs the ids of the requests to put aside.");
  const deps = { ledger: openLedger(session), clock: session.context.clock };
  const reports: TaskReport[] = [];
  for (const id of new Set(ids)) {
    const record = await deps.ledger.find(id);
    if (record === null) throw new UsageError(`The ledger has no task ${JSON.stringify(id)}.`);
    reports.push(await dismissTask(record, { why: "dismissed by the user", replacement: null }, deps));
    for (const warning of reports.at(-1)?.warnings ?? []) await session.console.warn(warning);
    await session.console.note(`${record.id} is put aside. imggen history still shows it.`);
  }
  if (session.options.json) await session.json({ ok: true, tasks: reports.map(reportJson) });
  return 0;
}

async function resumeOptions(flags: ResumeFlags, session: Session): Promise<ResumeOptions> {
  const { output, overwrite = false } = flags;
  const { resolvePath } = session.context;
  const destination =
    output === undefined ? null : await resolveFileDestination({ output, overwrite, resolvePath });
  if (destination) await prepareDestination(destination);
  const fallback = () =>
    ({ kind: "folder", folder: resolvePath("."), template: DEFAULT_TEMPLATE, overwrite }) as const;
  return { wait: await waitSettings(flags, session), destination, fallback };
}

/** Every unfinished task; under `--sandbox` the sandbox's alone. */
async function resumeAll(options: ResumeOptions, session: Session, deps: ResumeDeps): Promise<Resumed> {
  const entries = await deps.ledger.unfinished();
  const all = entries.flatMap((entry) => (entry.kind === "task" ? [entry.record] : []));
  const inSandbox = ({ intent }: TaskRecord) => intent.service.baseUrl === SANDBOX_SERVICE;
  const records = session.options.sandbox ? all.filter(inSandbox) : all;
  requireFolderForSeveral(options.destination, records.length);
  const oddities = entries.filter((entry) => entry.kind !== "task");
  const unreadable = oddities.filter(({ kind }) => kind === "damaged" || kind === "newer");
  for (const oddity of oddities) await session.console.warn(describeOddity(oddity));
  const ended = await mapConcurrent(records, AT_ONCE, (record) => resumeRecord(record, options, deps));
  // Housekeeping: the next resume tries again where this one cannot.
  await deps.ledger.sweep().catch(() => {});
  // What never became a task is put away without a word: there is nothing to finish.
  return { reports: ended.filter(({ status }) => status !== "refused"), unreadable };
}

/** What nobody knows the outcome of outweighs the rest: only the user can settle it. */
function exitCodeOf({ reports, unreadable }: Resumed): number {
  const codes = reports.map(exitCodeOfReport);
  const unknown = EXIT_CODES.outcome_unknown;
  if (reports.some(({ error }) => error?.type === "interrupted")) return worstOf(codes);
  return unreadable.length > 0 || codes.includes(unknown) ? unknown : worstOf(codes);
}

async function show(
  { reports, unreadable }: Resumed,
  ids: string[],
  exitCode: number,
  session: Session,
): Promise<void> {
  const [only] = reports;
  if (session.options.json) {
    const tasks = reports.map(reportJson);
    if (ids.length === 1 && only) return session.json(reportJson(only));
    const rest = unreadable.map((oddity) => ({ file: oddity.file, message: describeOddity(oddity) }));
    return session.json({ ok: exitCode === 0, tasks, ...(rest.length > 0 && { unreadable: rest }) });
  }
  for (const report of reports) await renderReport(report, session);
  if (reports.length === 0 && unreadable.length === 0) await session.console.note("Nothing is unfinished.");
}
