import { describe, expect, it } from "vitest";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { drawn, endless, scriptedProvider } from "./provider-script.ts";
import { liveServer } from "./serve-world.ts";

/** A service with one task at the generator, which draws it once it is told to, and one that waits. */
async function busy(isPaid: boolean, answer?: Parameters<typeof scriptedProvider>[0], graceMs = 60_000) {
  const folder = await temporaryFolder();
  let draw = () => {};
  const mayDraw = new Promise<void>((resolve) => (draw = resolve));
  const provider = scriptedProvider(answer ?? ((job) => mayDraw.then(() => drawn(job))));
  const live = await liveServer({ folder, provider, options: { isPaid }, graceMs });
  const running = await live.accepted({ prompt: "a fox" });
  await provider.sent(1);
  const waiting = await live.accepted({ prompt: "a hare" });
  /** Where a task stands, as the disk says. */
  const later = async (taskId: string) => (await live.ledger.find(taskId))?.state;
  return { ...live, folder, provider, running, waiting, later, draw };
}

describe("a service that is closed", () => {
  it("gives a free request up, and leaves all tasks queued, without counting that as a retry", async () => {
    const { close, running, waiting, later } = await busy(false, (_job, deps) => endless(deps), 0);
    const waits: number[] = [];
    await close((count) => waits.push(count));
    expect(waits).toEqual([]);
    for (const taskId of [running, waiting]) expect(await later(taskId)).toBe("waiting");
  });

  it("waits for a paid reply in flight, says so, and begins nothing new", async () => {
    const { close, running, waiting, provider, later, draw } = await busy(true);
    const waits: number[] = [];
    await close((count) => {
      waits.push(count);
      draw();
    });
    expect(waits).toEqual([1]);
    expect(await later(running)).toBe("saved");
    expect(await later(waiting)).toBe("waiting");
    expect(provider.jobs).toHaveLength(1);
  });

  it.each([true, false])("finishes what runs within its grace (paid: %s)", async (isPaid) => {
    const { close, running, waiting, later, draw } = await busy(isPaid);
    const closing = close();
    draw();
    await closing;
    expect(await later(running)).toBe("saved");
    expect(await later(waiting)).toBe("waiting");
  });

  it.each([
    [true, "unknown"],
    [false, "waiting"],
  ])("gives up what runs after its grace (paid: %s): the task is %s", async (isPaid, status) => {
    const { close, running, later } = await busy(isPaid, (_job, deps) => endless(deps), 200);
    const before = performance.now();
    await close();
    expect(performance.now() - before).toBeLessThan(20_000);
    expect(await later(running)).toBe(status);
  });

  it("leaves its tasks to another service of the same process", async () => {
    const { close, folder, running, waiting } = await busy(false, (_job, deps) => endless(deps), 0);
    await close();
    const { ended } = await liveServer({ folder });
    expect(await ended(waiting)).toMatchObject({ status: "completed" });
    expect(await ended(running)).toMatchObject({ status: "completed" });
  });

  it("keeps a task that comes while it closes for other processes", async () => {
    const { close, submit, folder, draw } = await busy(true);
    const closing = close();
    const { body } = await submit({ prompt: "a late fox" });
    draw();
    await closing;
    const { ended } = await liveServer({ folder });
    expect(await ended(body.data?.taskId ?? "")).toMatchObject({ status: "completed" });
  });
});
