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
};

/** A request that process 1 was sending to the queue when it ended, and process 2 that asks what came of it. */
async function leftSending(taskOf: () => Promise<string | null>) {
  const service = testIdentity("http://127.0.0.1:1/api");
  const processes = someProcesses(1, 2);
  const { deps, destination, stateFolder } = await taskWorld(service.baseUrl, { processes: processes.as(1) });
  const request = { prompt: "a fox", model: "gamma-image-2" };
  const intent = { request, service, credits: null, destination, queue: QUEUE.id };
  const { record } = await deps.ledger.begin(intent);
  processes.die(1);
  const world = await taskWorld(service.baseUrl, { processes: processes.as(2), stateFolder });
  const connection = { ...world.deps.connection, generator: { ...QUEUE, taskOf } };
  return { deps: { ...world.deps, connection }, id: record.id };
}

it("a task that the queue knows is accepted, even where the disk does not release it cleanly", async () => {
  const { deps, id } = await leftSending(async () => "task-1");
  refuseReleases(deps.ledger);
  await askQueueOfAll(deps, () => true);
  expect((await deps.ledger.find(id))?.state).toMatchObject({ name: "accepted", taskId: "task-1" });
});

it("a task that the queue never had was not sent, and is finished with that", async () => {
  const { deps, id } = await leftSending(async () => null);
  await askQueueOfAll(deps, () => true);
  expect((await deps.ledger.find(id))?.state.name).toBe("not_sent");
  expect(await deps.ledger.isFinished(id)).toBe(true);
});
