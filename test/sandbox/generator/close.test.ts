import { describe, expect, it } from "vitest";
import { drawn, endless, scriptedGenerator } from "../../support/scripted-generator.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { dataOf, liveGenerator } from "./live-generator.ts";

/** A service with one task at the generator and one that waits. */
async function busy(isPaid: boolean, answer: Parameters<typeof scriptedGenerator>[0]) {
  const folder = await temporaryFolder();
  const generator = scriptedGenerator(answer);
  const live = await liveGenerator({ folder, generator, options: { isPaid } });
  const running = await live.accepted({ prompt: "a fox" });
  await expect.poll(() => generator.jobs).toHaveLength(1);
  const waiting = await live.accepted({ prompt: "a hare" });
  const later = async (taskId: string) => {
    const next = await liveGenerator({ folder, options: { isPaid }, runs: false });
    return dataOf(await next.poll(taskId));
  };
  return { ...live, folder, generator, running, waiting, later };
}

/** Draws after a moment, whether it is given up or not. */
const slowly = async (job: Parameters<typeof drawn>[0]) => {
  await new Promise((resolve) => setTimeout(resolve, 300));
  return drawn(job);
};

describe("a service that is closed", () => {
  it("gives a free request up, and leaves all tasks queued, without counting that as a retry", async () => {
    const { close, running, waiting, later } = await busy(false, (_job, deps) => endless(deps));
    const waits: number[] = [];
    await close((count) => waits.push(count));
    expect(waits).toEqual([]);
    for (const taskId of [running, waiting]) expect((await later(taskId)).status).toBe("queued");
  });

  it("waits for a paid reply that is on its way, says so, and begins nothing new", async () => {
    const { close, running, waiting, generator, later } = await busy(true, slowly);
    const waits: number[] = [];
    await close((count) => waits.push(count));
    expect(waits).toEqual([1]);
    expect((await later(running)).status).toBe("completed");
    expect((await later(waiting)).status).toBe("queued");
    expect(generator.jobs).toHaveLength(1);
  });

  it.each([true, false])("finishes what runs within its grace (paid: %s)", async (isPaid) => {
    const { close, running, waiting, later } = await busy(isPaid, slowly);
    await close(undefined, 5_000);
    expect((await later(running)).status).toBe("completed");
    expect((await later(waiting)).status).toBe("queued");
  });

  it.each([
    [true, "failed"],
    [false, "queued"],
  ])("gives up what runs after its grace (paid: %s): the task is %s", async (isPaid, status) => {
    const { close, running, later } = await busy(isPaid, (_job, deps) => endless(deps));
    const before = performance.now();
    await close(undefined, 200);
    expect(performance.now() - before).toBeLessThan(2_000);
    expect((await later(running)).status).toBe(status);
  });

  it("leaves its tasks to another service of the same process", async () => {
    const { close, folder, running, waiting } = await busy(false, (_job, deps) => endless(deps));
    await close();
    const { ended } = await liveGenerator({ folder });
    expect(await ended(waiting)).toMatchObject({ status: "completed" });
    expect(await ended(running)).toMatchObject({ status: "completed" });
  });

  it("keeps a task that comes while it closes for other processes", async () => {
    const { close, submit, folder } = await busy(true, slowly);
    const closing = close();
    const { body } = await submit({ prompt: "a late fox" });
    await closing;
    const { ended } = await liveGenerator({ folder });
    expect(await ended(body.data?.taskId ?? "")).toMatchObject({ status: "completed" });
  });
});
