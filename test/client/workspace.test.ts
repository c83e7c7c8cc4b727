import { expect, it } from "vitest";
import { Session } from "../../src/cli/session/session.ts";
import { Workspace } from "../../src/client/workspace.ts";
import { steppedClock } from "../support/fake-clock.ts";
import { testContext } from "../support/in-process.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("tasks that wait at once wake together", async () => {
  const clock = steppedClock();
  const session = new Session(testContext({ home: await temporaryFolder(), clock }), { sandbox: true }, []);
  const workspace = new Workspace(session);
  const { signal } = session.context;
  const caller = { signal, onProgress() {}, writeOut: async () => {} };
  const deps = await workspace.depsFor(caller).current();
  void deps.clock.sleep(1000);
  void deps.clock.sleep(980);
  expect(clock.waits).toEqual([1000, 1000]);
  await workspace.close();
});
