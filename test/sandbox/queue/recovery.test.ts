import { describe, expect, it } from "vitest";
import {
  drawn,
  endless,
  failing,
  type ScriptedGenerator,
  scriptedGenerator,
} from "../../support/scripted-generator.ts";
import { identity, type SomeProcesses, someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { dataOf, liveGenerator } from "../generator/live-generator.ts";

const ENDLESS = () => scriptedGenerator((_job, deps) => endless(deps));

/** A process that was killed with two tasks: the first at the generator, the second one waiting. */
async function killed({ isPaid, maxImages = 1 }: { isPaid: boolean; maxImages?: number }) {
  const processes = someProcesses(1, 2, 3);
  const folder = await temporaryFolder();
  const generator = ENDLESS();
  const options = { isPaid, timeoutMs: 3_000 };
  const live = await liveGenerator({ folder, generator, options, processes: processes.as(1) });
  const running = await live.accepted({ prompt: "a fox", maxImages });
  await expect.poll(() => generator.jobs).toHaveLength(1);
  const waiting = await live.accepted({ prompt: "a hare" });
  processes.die(1);
  return { processes, folder, running, waiting, options };
}

/** Another process, which finds what the killed one has left. */
function nextProcess(
  {
    folder,
    options,
    processes,
  }: Pick<Awaited<ReturnType<typeof killed>>, "folder" | "options" | "processes">,
  generator: ScriptedGenerator,
  others: { runs?: boolean; adoptsAll?: boolean } = {},
) {
  return liveGenerator({ folder, options, generator, processes: processes.as(2), ...others });
}

describe("of a killed process", () => {
  it("a paid request that was on its way is of unknown outcome, and is never sent again", async () => {
    const left = await killed({ isPaid: true });
    const generator = scriptedGenerator();
    const { ended } = await nextProcess(left, generator);
    expect(await ended(left.running)).toMatchObject({ status: "failed", outcome: "unknown" });
    expect(await ended(left.waiting)).toMatchObject({ status: "completed" });
    expect(generator.jobs.map(({ taskId }) => taskId)).toEqual([left.waiting]);
  });

  it("a paid request stays one for a process that takes the generator for a free one", async () => {
    const left = await killed({ isPaid: true });
    const generator = scriptedGenerator(() => failing("lost", "HTTP 524"));
    const { ended } = await nextProcess({ ...left, options: { ...left.options, isPaid: false } }, generator);
    expect(await ended(left.running)).toMatchObject({ status: "failed", outcome: "unknown" });
    expect(await ended(left.waiting)).toMatchObject({ status: "failed", outcome: "unknown" });
    expect(generator.jobs.map(({ taskId }) => taskId)).toEqual([left.waiting]);
  });

  it("a free request that was on its way is sent again", async () => {
    const left = await killed({ isPaid: false });
    const generator = scriptedGenerator();
    const { ended } = await nextProcess(left, generator);
    expect(await ended(left.running)).toMatchObject({ status: "completed" });
    expect(generator.jobs.map(({ taskId }) => taskId)).toEqual([left.running]);
  });

  it.each([true, false])(
    "a reply that had arrived to its last byte is the image (paid: %s)",
    async (isPaid) => {
      const left = await killed({ isPaid });
      const generator = scriptedGenerator();
      generator.recover = (job) => drawn(job, { total_tokens: 7 });
      const { ended } = await nextProcess(left, generator);
      expect(await ended(left.running)).toMatchObject({ status: "completed", usage: { total_tokens: 7 } });
      expect(generator.jobs).toEqual([]);
    },
  );

  it("a reply that had arrived and says no fails the task", async () => {
    const left = await killed({ isPaid: true });
    const generator = scriptedGenerator();
    generator.recover = () => failing("refused", "moderation_blocked");
    const { ended } = await nextProcess(left, generator);
    expect(await ended(left.running)).toMatchObject({ outcome: "refused", detail: "moderation_blocked" });
  });

  it("the other images of a task are made all the same", async () => {
    const left = await killed({ isPaid: true, maxImages: 3 });
    const generator = scriptedGenerator();
    const { ended } = await nextProcess(left, generator);
    const data = await ended(left.running);
    expect(data).toMatchObject({ status: "completed", resultUrl: [expect.any(String), expect.any(String)] });
    expect(data.detail).toMatch(/^The process that had sent the request ended/);
    expect(generator.jobs.map(({ index }) => index)).toEqual([1, 2]);
  });

  it("a task is left alone by a process that only looks, and by one that is not asked about it", async () => {
    const left = await killed({ isPaid: false });
    const looking = await nextProcess(left, scriptedGenerator(), { runs: false });
    expect(dataOf(await looking.poll(left.running)).status).toBe("processing");
    expect(dataOf(await looking.poll(left.waiting)).status).toBe("queued");
    const running = scriptedGenerator();
    const { ended } = await nextProcess(left, running);
    await ended(left.waiting);
    expect(running.jobs.map(({ taskId }) => taskId)).toEqual([left.waiting]);
    expect(dataOf(await looking.poll(left.waiting)).status).toBe("completed");
  });

  it("all tasks are taken over by a server, the oldest first, without being asked about them", async () => {
    const left = await killed({ isPaid: false });
    const generator = scriptedGenerator();
    await nextProcess(left, generator, { adoptsAll: true });
    await expect.poll(() => generator.jobs, { timeout: 5_000 }).toHaveLength(2);
    expect(generator.jobs.map(({ taskId }) => taskId)).toEqual([left.running, left.waiting]);
  });

  it("a task that ends its process each time is given up after two retries", async () => {
    const left = await killed({ isPaid: false });
    for (const pid of [2, 3]) {
      const generator = ENDLESS();
      const { poll } = await liveGenerator({ ...left, generator, processes: left.processes.as(pid) });
      expect(dataOf(await poll(left.running)).status).toBe("processing");
      await expect.poll(() => generator.jobs, { timeout: 3_000 }).toHaveLength(1);
      left.processes.die(pid);
    }
    const processes = someProcesses(4).as(4);
    const { ended } = await liveGenerator({ ...left, generator: ENDLESS(), processes });
    expect(await ended(left.running)).toMatchObject({ status: "failed", outcome: "refused" });
  });
});

it("a request of another machine, where nobody can ask whether it lives, is respected until it must have ended", async () => {
  const folder = await temporaryFolder();
  const elsewhere: SomeProcesses = someProcesses();
  const there = { self: { ...identity(1), host: "there" }, isAlive: () => true };
  const sent = ENDLESS();
  const first = await liveGenerator({ folder, generator: sent, options: { isPaid: true }, processes: there });
  const taskId = await first.accepted({ prompt: "a fox" });
  await expect.poll(() => sent.jobs).toHaveLength(1);
  const second = await liveGenerator({ folder, options: { isPaid: true }, processes: elsewhere.as(2) });
  expect(dataOf(await second.poll(taskId)).status).toBe("processing");
  expect(dataOf(await first.poll(taskId)).status).toBe("processing");
});

it("two machines that both take a task for theirs send one request", async () => {
  const folder = await temporaryFolder();
  const open: (() => void)[] = [];
  const generator = scriptedGenerator(async (job) => {
    await new Promise<void>((resolve) => open.push(resolve));
    return drawn(job);
  });
  const machine = (host: string) => ({
    folder,
    generator,
    options: { isPaid: true, concurrency: 2 },
    processes: { self: { ...identity(1), host }, isAlive: () => false },
  });
  const [a, b] = [await liveGenerator(machine("a")), await liveGenerator(machine("b"))];
  const blocking = await a.accepted({ prompt: "a fox" });
  await b.poll(blocking);
  await expect.poll(() => open).toHaveLength(1);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(generator.jobs).toHaveLength(1);
  open[0]?.();
  expect(await a.ended(blocking)).toMatchObject({ status: "completed" });
  expect(await b.ended(blocking)).toMatchObject({ status: "completed" });
  expect(generator.jobs).toHaveLength(1);
});
