import { resumeCommand } from "../../client/resume-command.ts";
import { Workspace } from "../../client/workspace.ts";
import type { UseCaseDeps } from "../../core/deps.ts";
import { InterruptedError } from "../../core/errors.ts";
import { AcceptedTasks } from "../../core/task/accepted-tasks.ts";
import { type ProgressFacts, progressText, type TaskProgressEvent } from "../../core/task/progress-events.ts";
import { formatDuration } from "../../lib/duration.ts";
import type { Session } from "../session/session.ts";
import type { Console } from "../text/console.ts";
import { claimedText, continuingText, stoppedText, stoppingText } from "../text/phrases.ts";
import { eventProgress } from "./event-lines.ts";
import type { LivePreview } from "./live-preview.ts";
import { createStatusLine, type StatusLineOptions } from "./status-line.ts";
import { lineOf, newView, type RequestFacts, showInView, type TaskView } from "./task-view.ts";

/** Shows the progress of a task: a spinner on a terminal, a few plain lines elsewhere. */
export interface Progress {
  show(event: TaskProgressEvent): void;
  /** Shows the image as it is so far; absent where the terminal cannot, or nobody wants it. */
  preview?: ((image: Buffer) => void) | undefined;
  stop(): void;
}

/** Progress of one task for this terminal, or for output that is not a terminal. @param facts null if not known */
export async function createProgress(
  session: Session,
  facts: RequestFacts | null,
  { hasPreviews = false, ...options }: StatusLineOptions & { hasPreviews?: boolean } = {},
): Promise<Progress> {
  const { console, context } = session;
  if (console.events) return eventProgress(console);
  const line = await createStatusLine(session, options);
  const preview = hasPreviews && line.isLive ? await loadPreview(session) : null;
  const clock = () => context.clock.monotonicMs();
  const view = newView();
  const notes = new TaskNotes(console, line.isLive);
  let timer: NodeJS.Timeout | undefined;
  const draw = () => {
    const ageMs = clock() - view.sinceMs;
    notes.grow(view, ageMs);
    line.set((columns) => [lineOf(view, ageMs, facts, columns)]);
  };
  return {
    show(event) {
      notes.show(event);
      if (!showInView(view, event, clock())) return;
      draw();
      timer ??= setInterval(draw, 1000).unref();
    },
    preview: preview?.show,
    stop() {
      clearInterval(timer);
      line.stop();
      preview?.stop();
    },
  };
}

/** Loaded late: it asks the terminal what it can show. */
async function loadPreview(session: Session): Promise<LivePreview | null> {
  const { createLivePreview } = await import("./live-preview.ts");
  return createLivePreview(session);
}

/** Says what a person should know of one of several tasks before it ends: each line names its task. */
export function tellOfTask(event: TaskProgressEvent, console: Console): void {
  tellAnyway(event, console);
  // Of those that wait, the next one says for whom.
  if (event.type === "progress" && event.waiting?.ahead === 1)
    void console.note(`${event.taskId}: ${progressText(event)}`);
  if (event.type === "download_retry")
    void console.note(`${event.taskId}: ${event.why}. Next try in ${formatDuration(event.delayMs)}.`);
}

/** Even under --quiet: the screen may be the only place that has the task's id. */
export function tellAnyway(event: TaskProgressEvent, console: Console): void {
  if (event.type === "submit_interrupted") console.noteAwaited(event.taskId);
  if (event.type === "ledger_warning") void console.error(`warning: ${event.message}`);
}

const SLOW_MS = 60_000;
const SLOW_TIMES = 2;

/** The lines that stay: few without a terminal, and on one only what the spinner cannot tell. */
class TaskNotes {
  readonly #console: Console;
  readonly #isLive: boolean;
  #isIdShown = false;
  #waitsFor: string | null = null;

  constructor(console: Console, isLive: boolean) {
    this.#console = console;
    this.#isLive = isLive;
  }

  show(event: TaskProgressEvent): void {
    tellAnyway(event, this.#console);
    const line = this.#lineOf(event);
    if (line !== null) void this.#console.note(line);
  }

  /** Shows the id on a terminal once, when it may soon be needed: the task is slow, or a poll has failed. */
  grow({ taskId, verb, usualMs }: TaskView, ageMs: number): void {
    if (!this.#isLive || this.#isIdShown || taskId === null || verb !== "Generating") return;
    if (ageMs < Math.max(SLOW_MS, SLOW_TIMES * (usualMs ?? 0))) return;
    this.#isIdShown = true;
    void this.#console.note(
      `This is taking a while. Ctrl-C loses nothing; resume with: ${resumeCommand(taskId)}`,
    );
  }

  #lineOf(event: TaskProgressEvent): string | null {
    switch (event.type) {
      case "claimed_elsewhere":
        return this.#isLive ? null : claimedText(event.id);
      case "continuing":
        return continuingText(event.taskId, event.charged);
      case "uploading":
        return this.#isLive ? null : `Uploading ${event.file}…`;
      case "submit_retry":
        return `Not sent yet: ${event.why} Next try in ${formatDuration(event.delayMs)}.`;
      case "submit_interrupted":
        return stoppingText(event.waitMs, event.taskId === null ? [] : [event.taskId]);
      case "accepted":
        return this.#isLive ? null : `Task ${event.taskId} accepted.`;
      case "progress":
        return this.#waits(event);
      case "poll_failed":
        return this.#pollFailed(event.taskId, event.why);
      case "download_retry":
        return `Download: ${event.why}. Next try in ${formatDuration(event.delayMs)}.`;
      default:
        return null;
    }
  }

  /** For whom a task waits, each time that it changes; on a terminal the spinner says it. */
  #waits({ waiting }: ProgressFacts): string | null {
    const holder = waiting?.holder ?? null;
    const isNew = holder !== null && holder !== this.#waitsFor;
    this.#waitsFor = holder;
    return isNew && !this.#isLive ? `Waiting for its turn, after ${holder}.` : null;
  }

  #pollFailed(taskId: string, why: string): string | null {
    if (!this.#isLive || this.#isIdShown) return null;
    this.#isIdShown = true;
    return `Task ${taskId}: ${why}. Still waiting.`;
  }
}

/**
 * Runs tasks, each at its own account, shows their progress, and closes everything afterwards.
 */
export async function withTasksShown<Result>(
  session: Session,
  { requestTimeoutMs }: { requestTimeoutMs: number | undefined },
  progress: Progress,
  work: (deps: UseCaseDeps) => Promise<Result>,
): Promise<Result> {
  await session.checkGeneratorFlags();
  const workspace = new Workspace(session, requestTimeoutMs);
  const accepted = new AcceptedTasks();
  const { context, console } = session;
  const forget = stopAtSecondSignal(accepted, session);
  try {
    const deps = workspace.depsFor({
      signal: context.signal,
      accepted,
      onProgress: (event) => progress.show(event),
      onPreview: progress.preview,
      writeOut: (bytes) => console.imageBytes(bytes),
    });
    return await work(deps);
  } finally {
    progress.stop();
    forget();
    // What can still be stopped needs its connections until the process ends.
    if (context.stopAccepted === undefined) await workspace.close();
  }
}

/** Has a second signal stop what is accepted. @returns takes that back, unless a Ctrl-C has left something to stop */
function stopAtSecondSignal(accepted: AcceptedTasks, { context, console }: Session): () => void {
  const { signal } = context;
  const tell = () => {
    const { names } = accepted;
    if (names.length === 0 || !isCtrlC(signal)) return;
    context.stopAccepted = async (limit) => {
      for (const stopped of await accepted.stopAll(limit)) await console.note(stoppedText(stopped));
    };
    void console.note(`Ctrl-C again asks ${names.join(", ")} to cancel what is accepted.`);
  };
  signal.addEventListener("abort", tell, { once: true });
  return () => signal.removeEventListener("abort", tell);
}

function isCtrlC({ reason }: AbortSignal): boolean {
  return reason instanceof InterruptedError && reason.signal === "SIGINT";
}
