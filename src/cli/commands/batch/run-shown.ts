import { planFacts } from "../../../client/batch-json.ts";
import type { CheckedBatch } from "../../../client/batch-operations.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import type { SUBMIT_MANY } from "../../../client/options/request-table.ts";
import type { BatchEvents, BatchResult, Doubt } from "../../../core/batch/batch-spec.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import { canAsk, readLine } from "../../input/input-stream.ts";
import { withTasksShown } from "../../output/task-progress.ts";
import type { Session } from "../../session/session.ts";
import { createBatchProgress } from "./batch-progress.ts";
import { estimateText, planText, questionOf, type ShownResult } from "./summary.ts";

/** Receives the results of a batch. */
interface Listener {
  onEnd: (end: RowResult) => Promise<void>;
  /** Reports the state of the batch if a second signal ends the program at once. Absent: only its end is reported. */
  onCutOff?: (result: BatchResult) => Promise<void>;
}

/**
 * Runs a batch and shows each row as it ends.
 * @throws what `batch` throws; nothing was sent then
 */
export async function runShown(
  { spec }: CheckedBatch,
  flags: FlagsOf<typeof SUBMIT_MANY>,
  session: Session,
  { onEnd, onCutOff }: Listener,
): Promise<ShownResult> {
  const { console, context } = session;
  const progress = await createBatchProgress(session, spec);
  const usual = context.onSecondSignal;
  const ends: RowResult[] = [];
  const events: BatchEvents = {
    confirm: canAsk(session) ? (doubt) => agreed(doubt, session) : undefined,
    onWarning: (message) => console.note(`warning: ${message}`),
    async onPlan(plan) {
      progress.show({ type: "planned", plan, cap: spec.cap });
      const facts = planFacts(plan, spec.matrix);
      await console.note(`${planText(facts, session.isSandbox)}. ${estimateText(facts)}`.trimEnd());
    },
    onOutage: (outage) => progress.show({ type: "outage", outage }),
    onPause: (delayMs) => progress.show({ type: "busy", delayMs }),
    onRun(cutOff) {
      if (onCutOff) context.onSecondSignal = () => console.finish(() => onCutOff(cutOff()));
    },
    onStart: () => progress.show({ type: "row_begun" }),
    async onEnd(end, counts) {
      progress.show({ type: "row_ended", result: end, counts });
      if (flags.sheet) ends.push(end);
      await onEnd(end);
    },
  };
  const connecting = { requestTimeoutMs: flags.requestTimeoutMs, acceptsOtherKey: spec.yes };
  const result = await withTasksShown(session, connecting, progress, (operations, caller) =>
    operations.batch(spec, caller, events),
  ).finally(() => {
    context.onSecondSignal = usual;
  });
  if (!flags.sheet) return result;
  const { makeSheet } = await import("./sheet.ts");
  return { ...result, sheet: await makeSheet(ends, spec, session) };
}

/** Asks the person at the terminal; anything but `y` or `yes` is no. @throws the signal's reason */
async function agreed(doubt: Doubt, { console, context }: Session): Promise<boolean> {
  if (doubt.about === "folder") await console.note(doubt.message);
  await console.question(`${questionOf(doubt)} [y/N] `);
  let isAnswered = false;
  try {
    const answer = await readLine(context);
    isAnswered = context.stdin.readableEnded !== true;
    return /^\s*y(es)?\s*$/i.test(answer);
  } finally {
    if (!isAnswered) await console.endQuestion();
  }
}
