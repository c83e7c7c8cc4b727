import type { BatchEvents, BatchResult, BatchSpec, Doubt } from "../../../core/batch/batch-spec.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { batch } from "../../../core/use-cases/batch.ts";
import { canAsk, readLine } from "../../input/input-stream.ts";
import { withTasksShown } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";
import type { BatchTerms } from "./batch-flags.ts";
import { createBatchProgress } from "./batch-progress.ts";
import { estimateText, planText, questionOf, type ShownResult } from "./summary.ts";

/** A batch as a command runs it. */
interface CommandSpec extends BatchSpec, BatchTerms {
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
): Promise<ShownResult> {
  const { matrix, requestTimeoutMs, sheet, onCutOff } = spec;
  const { console, context } = session;
  const progress = await createBatchProgress(session, spec);
  const usual = context.onSecondSignal;
  const ends: RowResult[] = [];
  const events: BatchEvents = {
    confirm: canAsk(session) ? (doubt) => agreed(doubt, session) : undefined,
    onWarning: (message) => console.note(`warning: ${message}`),
    async onPlan(plan) {
      progress.show({ type: "planned", plan, cap: spec.cap });
      const estimate = estimateText(plan.toSubmit, matrix);
      await console.note(`${planText(plan, session.isSandbox)}.${estimate && ` ${estimate}`}`);
    },
    onOutage: (outage) => progress.show({ type: "outage", outage }),
    onPause: (delayMs) => progress.show({ type: "busy", delayMs }),
    onRun(cutOff) {
      if (onCutOff !== null) context.onSecondSignal = () => console.finish(() => onCutOff(cutOff()));
    },
    onStart: () => progress.show({ type: "row_begun" }),
    async onEnd(end, counts) {
      progress.show({ type: "row_ended", result: end, counts });
      if (sheet) ends.push(end);
      await onEnd(end);
    },
  };
  const connecting = { requestTimeoutMs, acceptsOtherKey: spec.yes };
  const result = await withTasksShown(session, connecting, progress, async (operations, caller) =>
    batch(spec, await operations.depsFor(caller).current(), events),
  ).finally(() => {
    context.onSecondSignal = usual;
  });
  if (!sheet) return result;
  const { makeSheet } = await import("./sheet.ts");
  return { ...result, sheet: await makeSheet(ends, spec, session) };
}

async function agreed(doubt: Doubt, session: Session): Promise<boolean> {
  if (doubt.about === "folder") await session.console.note(doubt.message);
  return confirmed(questionOf(doubt), session);
}

/** Asks the person at the terminal; anything but `y` or `yes` is no. @throws the signal's reason */
async function confirmed(question: string, { console, context }: Session): Promise<boolean> {
  await console.question(`${question} [y/N] `);
  let isAnswered = false;
  try {
    const answer = await readLine(context);
    isAnswered = context.stdin.readableEnded !== true;
    return /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    if (!isAnswered) await console.endQuestion();
  }
}
