import { once } from "node:events";
import path from "node:path";
import { expect, it, vi } from "vitest";
import { submitNew } from "../../../src/core/engine/submit-and-finish.ts";
import { Line } from "../../../src/core/turns/line.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { systemProcesses } from "../../../src/lib/processes.ts";
import { counted } from "../../support/counted.ts";
import { scriptedProvider } from "../../support/scripted-provider.ts";
import { taskWorld } from "../../support/task-world.ts";
import { linesIn } from "./work-world.ts";

/** A task at a provider that knows how much room there is, and has some once the test says so. */
async function waitingForRoom() {
  const leave = vi.fn();
  const asked = counted();
  const room = new AbortController();
  const provider = Object.assign(scriptedProvider(), {
    async place({ signal }: { signal: AbortSignal }) {
      asked.add();
      await once(AbortSignal.any([signal, room.signal]), "abort");
      signal.throwIfAborted();
      return leave;
    },
  });
  const world = await taskWorld("http://127.0.0.1:9/api", { provider });
  const { connection } = world.deps;
  const deps = { processes: systemProcesses(), clock: systemClock };
  const line = new Line(path.join(world.stateFolder, "turns"), { concurrency: 1, forMs: 60_000 }, deps);
  const generator = connection.generator && { ...connection.generator, line };
  const checked = { request: { prompt: "a fox", model: "flux" }, credits: null, warnings: [] };
  const { destination } = world;
  const spec = { checked, destination, wait: { timeoutMs: null, schedule: null } };
  const running = submitNew(spec, { ...world.deps, connection: { ...connection, generator } });
  await asked.reached(1);
  return { ...world, provider, running, leave, makeRoom: () => room.abort() };
}

it("a request counts as sent only once its provider has a place for it, which it gives back", async () => {
  const { stateFolder, provider, running, leave, makeRoom } = await waitingForRoom();
  expect(linesIn({ stateFolder }).types).not.toContain("started");
  expect(provider.jobs).toEqual([]);
  makeRoom();
  expect((await running).state).toBe("saved");
  expect(provider.jobs).toHaveLength(1);
  expect(leave).toHaveBeenCalledOnce();
});

it("a request that is given up while its provider has no place for it was not sent", async () => {
  const { provider, running, interrupt, leave } = await waitingForRoom();
  interrupt();
  expect(await running).toMatchObject({ charged: "no" });
  expect(provider.jobs).toEqual([]);
  expect(leave).not.toHaveBeenCalled();
});
