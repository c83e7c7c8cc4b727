import { describeFailure } from "../../../client/failure.ts";
import { failureJson, reportJson } from "../../../client/report-json.ts";
import { interruptedError } from "../../../core/errors.ts";
import type { Resumed } from "../../../core/use-cases/resume.ts";
import { FLAG_NAMES } from "../../../lib/wording.ts";
import { describeUnreadable } from "../../../store/ledger-entry.ts";
import { isInterrupted } from "../../output/interrupted.ts";
import type { Session } from "../../session/session.ts";

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
