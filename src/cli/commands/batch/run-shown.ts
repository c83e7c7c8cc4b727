import type { BatchEvents, BatchResult, BatchSpec, Doubt } from "../../../core/batch/batch-spec.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { batch } from "../../../core/use-cases/batch.ts";
import { canAsk, confirmed } from "../../input/input-stream.ts";
import { withTasksShown } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";
import { createBatchProgress } from "./batch-progress.ts";
import { estimateText, planText, questionOf } from "./summary.ts";

/** A batch as a command runs it. */
export interface CommandSpec extends BatchSpec {
  requestTimeoutMs: number | undefined;
  /** Reports the state of the batch if a second signal ends the program at once; null if only its end is reported. */
  onCutOff: ((result: BatchResult) => Promise<void>) | null;
}

/**
 * Runs a batch and shows each row as it ends.
 * @throws what `batch` throws; nothing was sent then
 */
export async function runShown(
  spec: CommandSpec,
  session: Session,
  onEnd: (end: RowResult) => Promise<void>,
): Promise<BatchResult> {
  const { matrix, requestTimeoutMs, onCutOff } = spec;
  const { console, context } = session;
  const progress = await createBatchProgress(session, spec);
  const usual = context.onSecondSignal;
  const events: BatchEvents = {
    confirm: canAsk(session) ? (doubt) => agreed(doubt, session) : undefined,
    onWarning: (message) => console.note(`warning: ${message}`),
    async onPlan(plan) {
      progress.plan(plan);
      const estimate = estimateText(plan.toSubmit, matrix);
      await console.note(`${planText(plan)}.${estimate && ` ${estimate}`}`);
    },
    onOutage: progress.onOutage,
    onPause: progress.onPause,
    onRun(cutOff) {
      if (onCutOff !== null) context.onSecondSignal = () => console.finish(() => onCutOff(cutOff()));
    },
    onStart: () => progress.begin(),
    async onEnd(end, counts) {
      progress.end(end, counts);
      await onEnd(end);
    },
  };
  try {
    return await withTasksShown(session, { requestTimeoutMs }, progress, async ({ current }) =>
      batch(spec, await current(), events),
    );
  } finally {
    context.onSecondSignal = usual;
  }
}

async function agreed(doubt: Doubt, session: Session): Promise<boolean> {
  if (doubt.about === "folder") await session.console.note(doubt.message);
  return confirmed(questionOf(doubt), session);
}
