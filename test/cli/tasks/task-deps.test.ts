import { expect, it } from "vitest";
import { Session } from "../../../src/cli/app/session.ts";
import { taskDeps } from "../../../src/cli/tasks/task-deps.ts";
import { steppedClock } from "../../support/fake-clock.ts";
import { testContext } from "../../support/in-process.ts";
import { taskWorld } from "../../support/task-world.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

it("tasks that wait at once wake together", async () => {
  const clock = steppedClock();
  const session = new Session(testContext({ home: await temporaryFolder(), clock }), {}, []);
  const { connection } = (await taskWorld("http://127.0.0.1/api")).deps;
  const deps = await taskDeps(session, connection, () => {});
  void deps.clock.sleep(1000);
  void deps.clock.sleep(980);
  expect(clock.waits).toEqual([1000, 1000]);
});
