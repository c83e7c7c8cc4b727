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

/** Shows how a run gets on: on a terminal, in a few plain lines elsewhere, or as JSON for a program. */
export interface Progress {
  show(event: RunEvent): void;
  /** Shows a preview frame; absent if the terminal cannot, or previews are off. */
  preview?: ((image: Buffer) => void) | undefined;
  /** Ends drawing; messages are still printed. */
  stop(): void;
}

const REDRAW_MS = 1_000;

/** @returns what shows a run, and what is known of it so far */
export async function createProgress(
  session: Session,
  view: RunView,
  { hasPreviews = false, ...options }: StatusLineOptions & { hasPreviews?: boolean } = {},
): Promise<Progress & { run: RunProgress }> {
  const { console, context } = session;
  const line = await createStatusLine(session, options);
  // Loaded late: it asks the terminal what it can show.
  const loaded = hasPreviews && line.isLive ? await import("./live-preview.ts") : null;
  const preview = await loaded?.createLivePreview(session);
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
      // Even under --quiet: the screen may be the only place that has the task's id.
      if (event.type === "submit_interrupted") console.noteAwaited(event.taskId);
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

/** Flags of commands that connect to targets. */
interface ConnectionFlags {
  requestTimeoutMs?: number | undefined;
  /** Whether a task may be continued with another key than it was submitted with. */
  yes?: boolean | undefined;
}

/** Does an operation, shows its progress, and closes everything afterwards. */
export async function withTasksShown<Result>(
  session: Session,
  { requestTimeoutMs, yes }: ConnectionFlags,
  progress: Progress,
  work: (operations: Operations, caller: Caller) => Promise<Result>,
): Promise<Result> {
  await checkGeneratorFlags(session);
  const { Operations } = await import("../../client/operations.ts");
  const operations = new Operations(session, requestTimeoutMs);
  const { context, console } = session;
  const { onStoppable, forget } = stopAtSecondSignal(session);
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
    forget();
    // Jobs that a second signal may stop need their connections until the process ends.
    if (context.stopAccepted === undefined) await operations.close();
  }
}

/** Has a second signal stop free jobs. `forget`: takes that back, unless a signal has left something to stop. */
function stopAtSecondSignal({ context, console }: Session) {
  const { signal } = context;
  let jobs: Parameters<NonNullable<Caller["onStoppable"]>>[0] | undefined;
  const offer = () => {
    const stoppable = jobs;
    if (!signal.aborted || stoppable === undefined || context.stopAccepted) return;
    if (stoppable.providerNames.length === 0) return;
    context.stopAccepted = async (limit) => {
      for (const stopped of await stoppable.stopAll(limit)) await console.note(stoppedText(stopped));
    };
    if (isCtrlC(signal))
      void console.note(`Ctrl-C again asks ${stoppable.providerNames.join(", ")} to cancel its free jobs.`);
  };
  // A job may be accepted at the moment of the first signal.
  const onStoppable: Caller["onStoppable"] = (stoppable) => {
    jobs = stoppable;
    offer();
  };
  signal.addEventListener("abort", offer, { once: true });
  return { onStoppable, forget: () => signal.removeEventListener("abort", offer) };
}
