import { readdir } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Processes } from "../../src/lib/processes.ts";
import { Tickets } from "../../src/lib/tickets.ts";
import { Holder, TICKET_DURATION_MS } from "../../src/store/holder.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const TASK = "20260131T120000000-00000001";
const OTHER = "20260131T120000000-00000002";

/** The holders of several processes that share a folder. */
async function holders(...pids: number[]) {
  const folder = path.join(await temporaryFolder(), "holders");
  const clock = fakeClock();
  const processes = someProcesses(1, ...pids);
  const withProcesses = (each: Processes) => new Holder(new Tickets(folder, each, clock));
  return { folder, clock, processes, withProcesses, as: (pid: number) => withProcesses(processes.as(pid)) };
}

const namesIn = (folder: string) => readdir(folder).catch(() => []);

describe("a process that holds tasks", () => {
  it("is seen by the others while it holds one, with a ticket for all of them", async () => {
    const { as, folder } = await holders(2);
    const [holder, other] = [as(1), as(2)];
    expect(other.isClaimed(TASK, holder.mark)).toBe(false);
    await Promise.all([holder.hold(TASK), holder.hold(OTHER)]);
    expect(await namesIn(folder)).toHaveLength(1);
    expect([other.isClaimed(TASK, holder.mark), other.findProcess(holder.mark)]).toEqual([true, identity(1)]);
    holder.release(TASK);
    expect([holder.has(TASK), holder.has(OTHER), other.isClaimed(OTHER, holder.mark)]).toEqual([
      false,
      true,
      true,
    ]);
    holder.release(OTHER);
    expect([other.isClaimed(OTHER, holder.mark), other.findProcess(holder.mark)]).toEqual([false, null]);
    expect(await namesIn(folder)).toEqual([]);
  });

  it("is one of several in one process, each with a mark of its own", async () => {
    const { as } = await holders();
    const [one, other] = [as(1), as(1)];
    await one.hold(TASK);
    expect(one.mark).not.toBe(other.mark);
    expect([one.isClaimed(TASK, one.mark), one.isClaimed(OTHER, one.mark)]).toEqual([true, false]);
    expect([other.isClaimed(TASK, one.mark), one.isClaimed(TASK, other.mark)]).toEqual([true, false]);
  });

  it.each([
    "that cannot be asked, on another machine or in a container,",
    "whose thread was terminated, or that is stopped,",
  ])("%s holds them until its time is over", async (which) => {
    const { as, withProcesses, clock } = await holders(2);
    const elsewhere = { self: identity(1, "elsewhere"), isAlive: () => null };
    const holder = which.startsWith("that") ? withProcesses(elsewhere) : as(2);
    await holder.hold(TASK);
    clock.advance(TICKET_DURATION_MS - 1);
    expect(as(1).isClaimed(TASK, holder.mark)).toBe(true);
    clock.advance(1);
    expect(as(1).isClaimed(TASK, holder.mark)).toBe(false);
  });

  it("renews its ticket, and takes a new one after its time was over", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { as, clock, folder } = await holders(2);
    const holder = as(1);
    await holder.hold(TASK);
    const [first] = await namesIn(folder);
    for (let each = 0; each < 6; each++) {
      clock.advance(TICKET_DURATION_MS / 3);
      await vi.advanceTimersByTimeAsync(TICKET_DURATION_MS / 3);
      expect(as(2).isClaimed(TASK, holder.mark)).toBe(true);
    }
    expect(await namesIn(folder)).toEqual([first]);
    clock.advance(10 * TICKET_DURATION_MS);
    expect(as(2).isClaimed(TASK, holder.mark)).toBe(false);
    await vi.advanceTimersByTimeAsync(TICKET_DURATION_MS / 3);
    await vi.waitFor(() => expect(as(2).isClaimed(TASK, holder.mark)).toBe(true));
    holder.release(TASK);
    expect(await namesIn(folder)).toEqual([]);
  });

  it("is announced again as soon as the disk takes it, though that failed after its time was over", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { as, clock, folder, processes } = await holders(2);
    const tickets = new Tickets(folder, processes.as(1), clock);
    const holder = new Holder(tickets);
    await holder.hold(TASK);
    clock.advance(10 * TICKET_DURATION_MS);
    vi.spyOn(tickets, "take").mockRejectedValueOnce(Object.assign(new Error("full"), { code: "ENOSPC" }));
    await vi.advanceTimersByTimeAsync(TICKET_DURATION_MS / 3);
    expect(as(2).isClaimed(TASK, holder.mark)).toBe(false);
    await vi.advanceTimersByTimeAsync(TICKET_DURATION_MS / 3);
    await vi.waitFor(() => expect(as(2).isClaimed(TASK, holder.mark)).toBe(true));
  });

  it("holds nothing that it could not announce", async () => {
    const { folder } = await holders();
    const broken = new Tickets(folder, someProcesses(1).as(1), fakeClock());
    vi.spyOn(broken, "take").mockRejectedValueOnce(Object.assign(new Error("full"), { code: "ENOSPC" }));
    const holder = new Holder(broken);
    await expect(holder.hold(TASK)).rejects.toThrow("full");
    expect(holder.has(TASK)).toBe(false);
    await holder.hold(TASK);
    expect(holder.has(TASK)).toBe(true);
  });
});

it("nobody holds a task without a mark", async () => {
  const { as } = await holders();
  expect([as(1).isClaimed(TASK, null), as(1).findProcess(null), as(1).isClaimed(TASK, "")]).toEqual([
    false,
    null,
    false,
  ]);
});
