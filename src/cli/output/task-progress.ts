import type { Operations } from "../../client/operations.ts";
import { checkGeneratorFlags } from "../../client/targets/target-in-effect.ts";
import type { Caller } from "../../client/workspace.ts";
import type { RunEvent } from "../../core/use-cases/run-events.ts";
import { isCtrlC } from "../../lib/interrupted.ts";
import type { Session } from "../session/session.ts";
import { stoppedText } from "../text/phrases.ts";
import { eventLines } from "./event-lines.ts";
import { fold, newRun, type RunProgress, type RunView } from "./run-progress.ts";
import { createStatusLine, type StatusLineOptions } from "./status-line.ts";

export interface Progress {
  show(event: RunEvent): void;
  /** Shows a preview frame. Undefined if previews are off or unsupported. */
  preview?: ((image: Buffer) => void) | undefined;
  /** Removes the status lines. Later events are still printed as messages. */
  stop(): void;
}

const REDRAW_MS = 1_000;

export async function createProgress(
  session: Session,
  view: RunView,
  { hasPreviews = false, ...options }: StatusLineOptions & { hasPreviews?: boolean } = {},
): Promise<Progress & { run: RunProgress }> {
  const { console, context } = session;
  const line = await createStatusLine(session, options);
  // The preview queries the terminal, so it is loaded only if needed.
  const previewModule = hasPreviews && line.isLive ? await import("./live-preview.ts") : null;
  const preview = await previewModule?.createLivePreview(session);
  const notes = console.events ? eventLines(console) : view.notes(console, line.isLive);
  const run = newRun();
  const clock = () => context.clock.monotonicMs();
  let isLive = line.isLive;
  const draw = () => {
    if (!isLive) return;
    notes.tick?.(run, clock());
    line.set((columns) => view.lines(run, clock(), columns));
  };
  const timer = setInterval(draw, REDRAW_MS).unref();
  return {
    run,
    show(event) {
      if (event.type === "submit_interrupted") console.addPendingReply(event.taskId);
      // A ledger warning is shown even with --quiet, because the ledger might lack the task id.
      if (event.type === "ledger_warning") void console.error(`warning: ${event.message}`);
      else notes.show(event, run);
      if (fold(run, event, clock())) draw();
    },
    preview: preview?.show,
    stop() {
      isLive = false;
      clearInterval(timer);
      line.stop();
      preview?.stop();
    },
  };
}

interface ConnectionFlags {
  requestTimeoutMs?: number | undefined;
  /** Whether the user allows a task to be continued with a different API key. */
  yes?: boolean | undefined;
}

export async function runWithProgress<Result>(
  session: Session,
  { requestTimeoutMs, yes }: ConnectionFlags,
  progress: Progress,
  work: (operations: Operations, caller: Caller) => Promise<Result>,
): Promise<Result> {
  await checkGeneratorFlags(session);
  const { Operations } = await import("../../client/operations.ts");
  const operations = new Operations(session, requestTimeoutMs);
  const { context, console } = session;
  const { onStoppable, removeListener } = stopJobsOnSecondSignal(session);
  try {
    return await work(operations, {
      signal: context.signal,
      acceptsOtherKey: yes,
      onStoppable,
      onProgress: (event) => progress.show(event),
      onPreview: progress.preview,
      writeOut: (bytes) => console.imageBytes(bytes),
    });
  } finally {
    progress.stop();
    removeListener();
    // A second signal could still use the connections to stop jobs.
    if (context.stopAcceptedJobs === undefined) await operations.close();
  }
}

/** Makes a second signal stop free jobs. The returned `removeListener` has no effect after the first signal. */
function stopJobsOnSecondSignal({ context, console }: Session) {
  const { signal } = context;
  let jobs: Parameters<NonNullable<Caller["onStoppable"]>>[0] | undefined;
  const enableStop = () => {
    const stoppable = jobs;
    if (!signal.aborted || stoppable === undefined || context.stopAcceptedJobs) return;
    if (stoppable.providerNames.length === 0) return;
    context.stopAcceptedJobs = async (limit) => {
      for (const stopped of await stoppable.stopAll(limit)) await console.note(stoppedText(stopped));
    };
    if (isCtrlC(signal))
      void console.note(`Ctrl-C again asks ${stoppable.providerNames.join(", ")} to cancel its free jobs.`);
  };
  // A job can be accepted after the first signal, so `enableStop` is called for each job.
  const onStoppable: Caller["onStoppable"] = (stoppable) => {
    jobs = stoppable;
    enableStop();
  };
  signal.addEventListener("abort", enableStop, { once: true });
  return { onStoppable, removeListener: () => signal.removeEventListener("abort", enableStop) };
}
