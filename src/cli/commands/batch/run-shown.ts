import { type BatchResult, type BatchSpec, executeBatch } from "../../../core/batch/execute-batch.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import type { Session } from "../../session/session.ts";
import { withTasksShown } from "../../session/with-tasks.ts";
import { createBatchProgress } from "./batch-progress.ts";
import { agreeOnCosts } from "./costs.ts";
import { foreignFolderQuestion } from "./foreign-folder.ts";

/** A batch as a command runs it. */
export interface CommandSpec extends BatchSpec {
  /** `--yes`. */
  yes: boolean;
  requestTimeoutMs: number | undefined;
  /** Reports the state of the batch if a second signal ends the program at once; null if only its end is reported. */
  onCutOff: ((result: BatchResult) => Promise<void>) | null;
}

/**
 * Runs a batch and shows each row as it ends.
 * @throws what `executeBatch` throws; nothing was sent then
 */
export async function runShown(
  spec: CommandSpec,
  session: Session,
  onEnd: (end: RowResult) => Promise<void>,
): Promise<BatchResult> {
  const { nameOf, cap, requestTimeoutMs, onCutOff } = spec;
  const { context } = session;
  const progress = await createBatchProgress(session, nameOf);
  const usual = context.onSecondSignal;
  const watcher = {
    agreeOnFolder: foreignFolderQuestion(spec, session),
    agreeOnCosts(plan: BatchPlan) {
      progress.plan(plan, cap);
      return agreeOnCosts(plan, spec, session);
    },
    onOutage: progress.showOutage,
    onPause: progress.showPause,
    onRun(cutOff: () => BatchResult) {
      if (onCutOff !== null) context.onSecondSignal = () => session.console.finish(() => onCutOff(cutOff()));
    },
    onStart: () => progress.begin(),
    async onEnd(...[end, counts]: Parameters<typeof progress.end>) {
      progress.end(end, counts);
      await onEnd(end);
    },
  };
  try {
    return await withTasksShown(session, { requestTimeoutMs }, progress, async ({ current }) =>
      executeBatch(spec, watcher, await current()),
    );
  } finally {
    context.onSecondSignal = usual;
  }
}
