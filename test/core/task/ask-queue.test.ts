import { expect, it } from "vitest";
import { askQueueOfAll } from "../../../src/core/task/ask-queue.ts";
import { refuseReleases } from "../../support/refused-release.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { taskWorld, testIdentity } from "../../support/task-world.ts";

const QUEUE = {
  id: "queue-1",
  name: "command:paint",
  isPaid: true,
  concurrency: 1,
  timeoutMs: 1000,
  hold: () => false,
  taskOf: async () => "task-1",
};

it("a task that the queue knows is accepted, even where the disk does not let go of it cleanly", async () => {
  const service = testIdentity("http://127.0.0.1:1/api");
  const processes = someProcesses(1, 2);
  const { deps, destination, stateFolder } = await taskWorld(service.baseUrl, { processes: processes.as(1) });
  const request = { prompt: "a fox", model: "gamma-image-2" };
  const { record } = await deps.ledger.begin({ request, service, credits: null, destination });
  processes.die(1);
  const world = await taskWorld(service.baseUrl, { processes: processes.as(2), stateFolder });
  const { ledger, connection } = world.deps;
  refuseReleases(ledger);
  await askQueueOfAll({ ...world.deps, connection: { ...connection, generator: QUEUE } }, () => true);
  expect((await ledger.find(record.id))?.state).toMatchObject({ name: "accepted", taskId: "task-1" });
});
