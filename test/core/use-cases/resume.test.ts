import { expect, it, vi } from "vitest";
import { ofOneAccount } from "../../../src/core/engine/deps.ts";
import { fixedSchedule } from "../../../src/core/polling/fixed-schedules.ts";
import { resume } from "../../../src/core/use-cases/resume.ts";
import { hurriedClock } from "../../support/fake-clock.ts";
import { png } from "../../support/images.ts";
import { liveService } from "../../support/live-server.ts";
import { INTENT, LINES } from "../../support/records.ts";
import { completedAt, stillRunning } from "../../support/scripts.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { taskWorld, testIdentity } from "../../support/task-world.ts";

const TASKS = 40;
/** A wait that ends only when the clock is moved. */
const LONG_MS = 90_000;

/** Unfinished tasks that a process has left accepted, `task-0` first, of which the last one is completed by now. */
async function manyTasks() {
  const done = completedAt("/1.png");
  const server = await liveService(png(), {
    poll: (request, socket) =>
      (request.target.endsWith(`task-${TASKS - 1}`) ? done : stillRunning)(request, socket),
  });
  const processes = someProcesses(1, 2);
  const before = await taskWorld(server.baseUrl, { processes: processes.as(2), clock: hurriedClock() });
  const { destination, stateFolder, output, clock } = before;
  const { ledger } = before.deps;
  for (let number = 0; number < TASKS; number++) {
    const request = { prompt: `fox ${number}`, model: "gamma-image-2" };
    const intent = { ...INTENT, request, service: testIdentity(server.baseUrl), destination };
    const owned = await ledger.begin(intent, { isSent: true });
    if (owned === "taken") throw new Error("an id of another task");
    await owned.file.record({ ...LINES.accepted, taskId: `task-${number}` });
    owned.file.close();
    clock.advance(1);
  }
  processes.die(2);
  const world = await taskWorld(server.baseUrl, { processes: processes.as(1), stateFolder, output, clock });
  const spec = {
    ids: [],
    isSandbox: false,
    destination: null,
    wait: { timeoutMs: 2 * LONG_MS, schedule: fixedSchedule(LONG_MS) },
    fallback: () => destination,
  };
  const polled = () => server.requests.flatMap(({ target }) => /taskId=(task-\d+)/.exec(target)?.[1] ?? []);
  return { ...world, polled, run: () => resume(spec, ofOneAccount(world.deps)) };
}

it("resume polls each of many tasks once before any is polled again, and saves what is completed", async () => {
  const { run, polled, events, clock } = await manyTasks();
  const running = run();
  await vi.waitFor(() => expect(events.filter(({ type }) => type === "saved")).toHaveLength(1), 5_000);
  expect([polled().length, new Set(polled()).size]).toEqual([TASKS, TASKS]);
  // Each wait is asked for only after the one before.
  const moving = setInterval(() => clock.advance(LONG_MS), 1);
  const { reports } = await running.finally(() => clearInterval(moving));
  expect(reports.filter(({ state }) => state === "saved").map(({ taskId }) => taskId)).toEqual([
    `task-${TASKS - 1}`,
  ]);
  expect(reports.filter(({ error }) => error?.type === "pending")).toHaveLength(TASKS - 1);
});
