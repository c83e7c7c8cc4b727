import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect } from "vitest";
import type { PlannedRow } from "../../../src/core/batch/plan.ts";
import type { RowResult } from "../../../src/core/batch/row-result.ts";
import { type RunRowsSpec, runRows } from "../../../src/core/batch/run-rows.ts";
import type { BatchContext } from "../../../src/core/batch/submit-row.ts";
import { Admission } from "../../../src/core/limits/admission.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { intentOf } from "../../../src/core/task/submit-and-finish.ts";
import type { ProcessIdentity } from "../../../src/lib/processes.ts";
import { BatchClaims } from "../../../src/store/batch-claims.ts";
import type { Ledger } from "../../../src/store/ledger.ts";
import type { OwnedTask } from "../../../src/store/owners.ts";
import { formatLine } from "../../../src/store/task-file.ts";
import { accepts } from "../../support/batch-world.ts";
import { png } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { EVENTS } from "../../support/records.ts";
import type { ServiceScript } from "../../support/scripted-server.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { type TaskWorldOptions, taskWorld } from "../../support/task-world.ts";

/** A run of one process, and another process's ledger of the same tasks. */
export async function newRun(script: ServiceScript = {}, { service = {} }: TaskWorldOptions = {}) {
  const server = await liveService(png(), { submit: accepts, ...script });
  const processes = someProcesses(1, 2);
  const world = await taskWorld(server.baseUrl, { processes: processes.as(1), service });
  const other = await taskWorld(server.baseUrl, {
    processes: processes.as(2),
    stateFolder: world.stateFolder,
    output: world.output,
  });
  const { deps, clock } = world;
  const claims = new BatchClaims(deps.ledger.folder, "0123456789abcdef", clock);
  const admission = new Admission(deps.connection.provider, { clock, random: () => 0, onOutage: () => {} });
  const run: BatchContext = {
    output: { folder: world.output, template: "{slug}.{ext}", overwrite: false },
    wait: { timeoutMs: 10_000, schedule: fixedSchedule(1000) },
    claims,
    admission,
    deps,
    budget: null,
  };
  const ends: RowResult[] = [];
  const started: PlannedRow[] = [];
  const go = (rows: readonly PlannedRow[], options: Partial<RunRowsSpec> = {}) =>
    runRows(
      rows,
      {
        concurrency: 4,
        patienceMs: 60_000,
        onStart: (row) => void started.push(row),
        onEnd: async (end) => void ends.push(end),
        ...options,
      },
      run,
    );
  return { server, world, other, processes, claims, run, ends, started, go };
}

/**
 * Claims a row's first attempt for a task that is not begun: its process was killed in between.
 * @returns the task's id
 */
export async function claimedOnly(
  claims: BatchClaims,
  ledger: Ledger,
  row: Pick<PlannedRow, "key">,
  owner: ProcessIdentity,
): Promise<string> {
  const id = ledger.newId();
  const open = path.join(ledger.folder, "open");
  await mkdir(open, { recursive: true });
  const draft = path.join(open, `${id}.jsonl.draft-0a1b2c3d`);
  await writeFile(draft, formatLine({ ...EVENTS.intent, id, owner }));
  expect(await claims.attempt(row.key, 1).take(draft)).toBe(true);
  return id;
}

/** Another process begins a row, as the batch in it would. */
export async function begunByOther(
  { other, claims, run }: Awaited<ReturnType<typeof newRun>>,
  row: PlannedRow,
): Promise<OwnedTask> {
  const id = await claims.claim(row.key, 1, other.deps.ledger.newId());
  const destination = { kind: "folder", ...run.output } as const;
  const task = await other.deps.ledger.beginAs(
    id,
    intentOf({ checked: row.checked, destination, wait: null }, other.deps),
    null,
  );
  if (task === "taken") throw new Error("taken");
  return task;
}
