import type { TaskReport } from "../../../core/task/report.ts";
import { renderReport } from "../../output/render.ts";
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
