import { describeFailure } from "../../../client/failure.ts";
import { failureJson, reportJson } from "../../../client/report-json.ts";
import { interruptedError } from "../../../core/errors.ts";
import type { TaskReport } from "../../../core/task/report.ts";
import type { Resumed } from "../../../core/use-cases/resume.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import { describeUnreadable } from "../../../store/ledger-entry.ts";
import { isInterrupted, renderReport } from "../../output/render.ts";
import { createStatusLine } from "../../output/status-line.ts";
import { createProgress, type Progress, tellOfTask } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";

/** Shows how tasks are being finished: one as everywhere, several on one line together. */
export interface ResumeProgress extends Shown {
  /** Says how many tasks there are, before any of them is shown. */
  begin(tasks: number): Promise<void>;
}

interface Shown extends Progress {
  /** Shows how a task ended. */
  end(report: TaskReport, id: string): Promise<void>;
}

export function createResumeProgress(session: Session): ResumeProgress {
  let shown: Shown | null = null;
  return {
    async begin(tasks) {
      const isOne = tasks === 1 || session.console.events;
      shown = await (isOne ? oneTask(session) : severalTasks(session, tasks));
    },
    show: (event) => shown?.show(event),
    end: async (report, id) => shown?.end(report, id),
    stop: () => shown?.stop(),
  };
}

async function oneTask(session: Session): Promise<Shown> {
  const progress = await createProgress(session.console, session.context);
  return {
    ...progress,
    end(report) {
      progress.stop();
      return renderReport(report, session);
    },
  };
}

async function severalTasks(session: Session, tasks: number): Promise<Shown> {
  const { console, context } = session;
  const line = await createStatusLine(console, context, { isBesideResults: true });
  const [waiting, downloading] = [new Set<string>(), new Set<string>()];
  let ended = 0;
  const retitle = () => {
    const parts = [`${ended} of ${tasks} tasks`];
    if (waiting.size > 0) parts.push(`${waiting.size} waiting`);
    if (downloading.size > 0) parts.push(`${downloading.size} downloading`);
    line.set(parts.join(" · "));
  };
  return {
    show(event) {
      tellOfTask(event, console);
      if (event.type === "waiting") waiting.add(event.taskId);
      if (event.type === "downloading") {
        waiting.delete(event.taskId);
        downloading.add(event.taskId);
      }
      retitle();
    },
    async end(report, id) {
      ended += 1;
      waiting.delete(id);
      downloading.delete(id);
      retitle();
      const isNamed = report.error?.message.includes(id) === true;
      await renderReport(report, session, `${ended} of ${tasks}${isNamed ? "" : `, ${id}`}: `);
    },
    stop: () => line.stop(),
  };
}

const MOST_IDS = 100;

/** What a script gets of a `resume` of several tasks. */
export function resumedJson({ reports, unreadable }: Resumed, exitCode: number, session: Session): object {
  const files = unreadable.map((entry) => ({ file: entry.file, message: describeUnreadable(entry) }));
  const rest = files.length > 0 ? { unreadable: files } : {};
  const interrupted = reports.filter(isInterrupted);
  if (interrupted.length === 0)
    return { ok: exitCode === 0, tasks: reports.map((report) => reportJson(report, FLAG_NAMES)), ...rest };
  const shown = interrupted.slice(0, MOST_IDS);
  const ended = reports.filter((report) => !isInterrupted(report));
  const resume = session.commandLine();
  const failure = describeFailure(interruptedError(session.context.signal, "yes"), FLAG_NAMES);
  return {
    ...failureJson({ ...failure, hint: `Resume with: ${resume}`, resume }),
    tasks: [...ended, ...shown].map((report) => reportJson(report, FLAG_NAMES)),
    pending: { count: interrupted.length, taskIds: shown.map(({ taskId }) => taskId) },
    ...rest,
  };
}
