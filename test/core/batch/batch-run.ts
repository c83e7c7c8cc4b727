import { expect } from "vitest";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import type { RowResult } from "../../../src/core/batch/row-result.ts";
import type { BatchContext } from "../../../src/core/batch/run-row.ts";
import { type RunRowsSpec, runRows } from "../../../src/core/batch/run-rows.ts";
import { createIntent } from "../../../src/core/engine/begin.ts";
import { Gate, type GateDeps } from "../../../src/core/limits/gate.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import type { Ledger, OwnedTask } from "../../../src/store/ledger.ts";
import { RowClaims } from "../../../src/store/row-claims.ts";
import type { Intent } from "../../../src/task/intent.ts";
import { accepts } from "../../support/batch-world.ts";
import { png } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { AT, INTENT } from "../../support/records.ts";
import type { ServiceScript } from "../../support/scripted-server.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { type TaskWorldOptions, taskWorld } from "../../support/task-world.ts";

/** A run of one process, and another process's ledger of the same tasks. */
export async function newRun(
  script: ServiceScript = {},
  options: TaskWorldOptions & Pick<GateDeps, "onOutage"> = {},
) {
  const server = await liveService(png(), { submit: accepts, ...script });
  const processes = someProcesses(1, 2);
  const world = await taskWorld(server.baseUrl, { ...options, processes: processes.as(1) });
  const other = await taskWorld(server.baseUrl, {
    processes: processes.as(2),
    stateFolder: world.stateFolder,
    output: world.output,
  });
  const { deps, clock } = world;
  const claims = new RowClaims(deps.ledger.folder, "0123456789abcdef");
  const gate = new Gate({ clock, random: () => 0, onOutage: options.onOutage });
  const run: BatchContext = {
    output: { folder: world.output, template: "{slug}.{ext}", overwrite: false },
    wait: { timeoutMs: 10_000, schedule: fixedSchedule(1000) },
    claims,
    deps: { ...deps, gate, maxUnsent: Number.POSITIVE_INFINITY },
  };
  const ends: RowResult[] = [];
  const started: PlannedRow[] = [];
  const go = (rows: readonly PlannedRow[], options: Partial<RunRowsSpec> = {}) =>
    runRows(
      rows,
      {
        concurrency: 4,
        timeoutMs: 60_000,
        onStart: (row) => void started.push(row),
        onEnd: async (end) => void ends.push(end),
        ...options,
      },
      run,
    );
  return { server, world, other, processes, claims, run, ends, started, go };
}

/**
 * Claims an attempt at a row for a task that is not begun: its process was killed in between.
 * @returns the task's id
 */
export async function claimedOnly(
  claims: RowClaims,
  ledger: Ledger,
  row: Pick<PlannedRow, "key">,
  { attempt = 1, intent = INTENT }: { attempt?: number; intent?: Intent } = {},
): Promise<string> {
  const id = ledger.newId();
  expect(await claims.claim(row.key, attempt, { id, intent, at: AT })).toBe(id);
  return id;
}

/** Claims an attempt at a row, and begins its task. */
export async function claimedTask(
  claims: RowClaims,
  ledger: Ledger,
  row: Pick<PlannedRow, "key">,
  { attempt = 1, intent = INTENT }: { attempt?: number; intent?: Intent } = {},
): Promise<OwnedTask> {
  const id = await claimedOnly(claims, ledger, row, { attempt, intent });
  const task = await ledger.begin(intent, { id, isShared: true, claim: claims.claimName(row.key, attempt) });
  if (task === "taken") throw new Error("taken");
  return task;
}

/** Another process begins a row, as the batch in it would. */
export function begunByOther(
  { other, claims, run }: Awaited<ReturnType<typeof newRun>>,
  row: PlannedRow,
): Promise<OwnedTask> {
  const destination = { kind: "folder", ...run.output } as const;
  const intent = createIntent({ checked: row.checked, destination, wait: null }, other.deps);
  return claimedTask(claims, other.deps.ledger, row, { intent });
}
