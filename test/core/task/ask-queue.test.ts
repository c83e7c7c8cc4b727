import { expect, it } from "vitest";
import { askQueueOfAll } from "../../../src/core/task/ask-queue.ts";
import { Ledger } from "../../../src/store/ledger.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { INTENT } from "../../support/records.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("a task that the queue knows is accepted, even where the disk does not let go of it cleanly", async () => {
  const folder = await temporaryFolder();
  const processes = someProcesses(1, 2);
  const { record } = await new Ledger(folder, fakeClock(), processes.as(1)).begin(INTENT);
  processes.die(1);
  const ledger = new Ledger(folder, fakeClock(), processes.as(2));
  const claim = ledger.claim.bind(ledger);
  ledger.claim = async (wanted) => {
    const owned = await claim(wanted);
    if (typeof owned === "string") return owned;
    const release = async () => {
      await owned.release();
      throw Object.assign(new Error("EIO: i/o error, close"), { code: "EIO" });
    };
    return { ...owned, release };
  };
  const connection = { identity: INTENT.service, generator: { id: "queue-1", taskOf: async () => "task-1" } };
  const deps = { connection, ledger, clock: fakeClock() } as unknown as Parameters<typeof askQueueOfAll>[0];
  await askQueueOfAll(deps, () => true);
  expect((await ledger.find(record.id))?.state).toMatchObject({ name: "accepted", taskId: "task-1" });
});
