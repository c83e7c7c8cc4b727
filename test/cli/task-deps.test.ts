import { expect, it } from "vitest";
import type { Context } from "../../src/cli/context.ts";
import { Session } from "../../src/cli/session.ts";
import { taskDeps } from "../../src/cli/task-deps.ts";
import type { Connection } from "../../src/core/deps.ts";
import { steppedClock } from "../support/fake-clock.ts";
import { temporaryFolder } from "../support/program.ts";

it("tasks that wait at once wake together", async () => {
  const clock = steppedClock();
  const context = { clock, env: { IMGGEN_HOME: await temporaryFolder() } } as unknown as Context;
  const connection = { identity: { baseUrl: "http://127.0.0.1/api", account: "a" } } as unknown as Connection;
  const deps = await taskDeps(new Session(context, {}, []), connection, () => {});
  void deps.clock.sleep(1000);
  void deps.clock.sleep(980);
  expect(clock.waits).toEqual([1000, 1000]);
});
