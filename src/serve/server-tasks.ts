import type { TaskDeps } from "../core/engine/deps.ts";
import { type RunDeps, Runner } from "../core/engine/runner.ts";
import { requireSameKey } from "../core/errors.ts";
import { RunFileNames } from "../core/images/published-names.ts";
import { dayCap } from "../core/limits/budget.ts";
import { Gate } from "../core/limits/gate.ts";
import { POLICY } from "../core/limits/policy.ts";
import { PollingSchedules } from "../core/polling/choose-schedule.ts";
import { errorText } from "../lib/error-text.ts";
import { describeUnreadable, mayBeCharged } from "../store/ledger-files.ts";
import type { ServiceIdentity } from "../task/intent.ts";
import { displayId, STATES, type Task } from "../task/task.ts";
import { isNewTaskId } from "../task/task-id.ts";
import { getTaskEnd } from "./end.ts";
import type { ServeOptions, Service } from "./serve-options.ts";

/** Number of tasks that run beyond the provider's concurrency, so that the next submit has no delay. */
const EXTRA_TASKS = 2;

const OWNER_ONLY = 0o600;

/** Creates the runner of a server. All tasks share one gate, so that few attempts are made during an outage. */
export function openRunner(options: ServeOptions): Pick<Service, "runner" | "gate"> {
  const { connection, ledger, clock, random, graceMs, concurrency, name, onEvent } = options;
  const gate = new Gate({
    clock,
    random,
    waits: POLICY.serverOutage,
    onOutage: (outage) => {
      if (outage.down && !outage.isOfPolls) onEvent?.({ kind: "paused", detail: outage.why });
    },
  });
  const schedules = new PollingSchedules(ledger, connection.identity);
  const runner = new Runner({
    maxSending: concurrency + EXTRA_TASKS,
    graceMs,
    ledger,
    clock,
    server: name,
    depsFor: (run) => taskDeps(options, { ...run, gate, schedules }),
    onEnded(task) {
      const end = getTaskEnd(task);
      if (end === null) return;
      const waiting = runner.open.length;
      onEvent?.({ kind: "ended", taskId: displayId(task), task, end, ...taskTimes(task, clock), waiting });
    },
    onFailed: (task, why) => onEvent?.({ kind: "dropped", taskId: displayId(task), why }),
  });
  return { runner, gate };
}

function taskTimes({ submittedAt, requests }: Task, clock: ServeOptions["clock"]) {
  const startTimes = requests.flatMap(({ attempts }) => attempts.map(({ at }) => Date.parse(at)));
  const arrivedMs = Date.parse(submittedAt);
  const ms = Math.max(0, clock.now() - arrivedMs);
  return { ms, waitedMs: startTimes.length === 0 ? ms : Math.max(0, Math.min(...startTimes) - arrivedMs) };
}

function taskDeps(
  { connection, ledger, clock, random, dailyCredits }: ServeOptions,
  shared: RunDeps & Pick<TaskDeps, "gate" | "schedules">,
): TaskDeps {
  return {
    ...shared,
    connection,
    ledger,
    published: new RunFileNames(clock.now()),
    clock,
    fileMode: OWNER_ONLY,
    writeOut: () => Promise.reject(new TypeError("a server has no standard output")),
    random,
    dailyCredits,
    maxUnsent: Number.POSITIVE_INFINITY,
    caps: [dayCap({ ledger, clock, dailyCredits })],
  };
}

/** @param taskId text from a client, which is not trusted */
export async function findTask(
  taskId: string,
  { ledger, runner, name }: Pick<Service, "ledger" | "runner" | "name">,
): Promise<Task | null> {
  if (!isNewTaskId(taskId)) return null;
  const runnerTask = runner.find(taskId);
  if (runnerTask !== null) return runnerTask.task;
  const task = await ledger.findExact(taskId);
  return task?.intent.server === name ? task : null;
}

const ADOPT_INTERVAL_MS = 2_000;

/** Takes over unfinished tasks of this server's ended processes, at once and then at intervals until the abort. */
export async function adoptTasks(
  service: Service & { renew: () => Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  /** Ids of tasks that wait for the user's decision or belong to another server or key. */
  const skippedIds = new Set<string>();
  const reportedFiles = new Set<string>();
  while (!signal.aborted) {
    await adoptOnce(service, skippedIds, reportedFiles).catch(() => {});
    await service.renew();
    await service.clock.sleep(ADOPT_INTERVAL_MS, signal).catch(() => {});
  }
}

async function adoptOnce(
  { ledger, runner, clients, name, onEvent, connection }: Service,
  skippedIds: Set<string>,
  reportedFiles: Set<string>,
): Promise<void> {
  await runner.noteEnded();
  const ids = new Set(runner.open.map(({ task }) => task.id));
  for (const entry of await ledger.unfinished({ has: (id) => ids.has(id) || skippedIds.has(id) })) {
    if (entry.kind === "task") {
      const { task } = entry;
      const why = describeKeyMismatch(task, connection.identity);
      if (task.intent.server !== name || awaitsUser(task)) skippedIds.add(task.id);
      else if (why !== null) {
        skippedIds.add(task.id);
        onEvent?.({ kind: "dropped", taskId: displayId(task), why });
      } else if (!ledger.isClaimed(task)) await clients.adopt(task);
    } else if (mayBeCharged(entry) && !reportedFiles.has(entry.file)) {
      reportedFiles.add(entry.file);
      onEvent?.({ kind: "dropped", taskId: entry.file, why: describeUnreadable(entry) });
    }
  }
}

function describeKeyMismatch(task: Task, identity: ServiceIdentity): string | null {
  try {
    requireSameKey(task.intent, identity, displayId(task));
    return null;
  } catch (error) {
    return errorText(error);
  }
}

/** Whether a task stays unfinished until the user decides about a lost request. */
function awaitsUser(task: Task): boolean {
  return getTaskEnd(task) !== null && STATES[task.state].isOpen;
}
