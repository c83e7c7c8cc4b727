import type { Clock } from "../lib/clock.ts";
import type { Ledger } from "../store/ledger.ts";
import { describeUnreadable, mayBeTask } from "../store/ledger-files.ts";
import type { LivingServer } from "../store/servers.ts";
import { STATES } from "../task/task.ts";
import { endOf } from "./end.ts";
import type { Queue } from "./queue.ts";
import type { ServeOptions } from "./serve-options.ts";

/** How often tasks of ended processes are searched for, in milliseconds. */
const ADOPT_MS = 2_000;

interface AdoptDeps extends Pick<ServeOptions, "name" | "onEvent"> {
  ledger: Ledger;
  living: LivingServer;
  queue: Queue;
  clock: Pick<Clock, "sleep">;
}

/** Takes over the open tasks that no living process has, now and from time to time, until it is stopped. */
export async function adoptAll(deps: AdoptDeps, signal: AbortSignal): Promise<void> {
  /** Tasks of unknown outcome, which stay among the unfinished ones, and tasks that are not this server's. */
  const left = new Set<string>();
  const named = new Set<string>();
  while (!signal.aborted) {
    // The disk may refuse what the next round is given.
    await adopt(deps, left, named).catch(() => {});
    await deps.living.renew();
    await deps.clock.sleep(ADOPT_MS, signal).catch(() => {});
  }
}

async function adopt(
  { ledger, queue, name, onEvent }: AdoptDeps,
  left: Set<string>,
  named: Set<string>,
): Promise<void> {
  await queue.noteEnded();
  const ids = queue.ids();
  const skipped = { has: (id: string) => ids.has(id) || left.has(id) };
  for (const entry of await ledger.unfinished(skipped)) {
    if (entry.kind === "task") {
      const { record } = entry;
      const isOwn = record.intent.server === name;
      if (!isOwn || (endOf(record) !== null && STATES[record.state.name].isOpen)) left.add(record.id);
      else if (!ledger.isClaimed(record)) queue.add(record);
    } else if (mayBeTask(entry) && !named.has(entry.file)) {
      named.add(entry.file);
      onEvent?.({ kind: "dropped", taskId: entry.file, why: describeUnreadable(entry) });
    }
  }
}
