import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { termsFor } from "../../src/client/targets/open-generator.ts";
import { ClaimedTask } from "../../src/core/engine/claimed-task.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { Processes } from "../../src/lib/processes.ts";
import { Ledger } from "../../src/store/ledger.ts";
import { GENERATOR_KEY_ID, type Intent } from "../../src/task/intent.ts";
import type { GenerationRequest } from "../../src/task/request.ts";
import { quickClock } from "../support/quick-clock.ts";
import { identity, someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { pause } from "../support/wait.ts";
import { drawn, endless, failing, type ScriptedProvider, scriptedProvider } from "./provider-script.ts";
import { dataOf, liveServer, OPTIONS, SERVER } from "./serve-world.ts";

/** Twice as long as it takes until others search for tasks, by a clock that goes ten times as fast. */
const MANY_SEARCHES_MS = 450;

/** The ledger of a process, and what a server begins and sends in it. */
function processIn(folder: string, processes: Processes, isPaid: boolean) {
  const ledger = new Ledger(folder, systemClock, processes);
  const begin = (request: GenerationRequest) => {
    const work = termsFor(request, { ...OPTIONS, isPaid, timeoutMs: 3_000 });
    const place = path.join(folder, "files", randomBytes(8).toString("hex"));
    const intent: Intent = {
      request,
      service: { baseUrl: "command:paint", keyId: GENERATOR_KEY_ID },
      credits: isPaid ? null : 0,
      destination: { kind: "file", path: place, overwrite: false },
      ...work,
      server: SERVER,
    };
    return ledger.begin(intent);
  };
  /** A task whose first request is in flight. @returns its id */
  const sent = async (request: GenerationRequest) => {
    const owned = await begin(request);
    const attempt = await new ClaimedTask(ledger, owned, () => {}).start(0);
    if (typeof attempt !== "string") throw attempt;
    await ledger.work.begin(owned.task.id, 0, attempt);
    owned.file.close();
    return owned.task.intent.taskId ?? "";
  };
  const waiting = async (request: GenerationRequest) => {
    const owned = await begin(request);
    ledger.release(owned, true);
    return owned.task.intent.taskId ?? "";
  };
  return { sent, waiting };
}

/** What a server has left that was killed with two tasks: the first at the generator, the second one waiting. */
async function killed({ isPaid, maxImages = 1 }: { isPaid: boolean; maxImages?: number }) {
  const processes = someProcesses(1, 2, 3);
  const folder = await temporaryFolder();
  const { sent, waiting } = processIn(folder, processes.as(1), isPaid);
  const left = {
    running: await sent({ prompt: "a fox", model: "sdxl", maxImages }),
    waiting: await waiting({ prompt: "a hare", model: "sdxl" }),
  };
  processes.die(1);
  return { ...left, processes, folder, isPaid };
}

/** Another process, which finds what the killed one has left. */
function nextProcess(
  { folder, isPaid, processes }: Pick<Awaited<ReturnType<typeof killed>>, "folder" | "isPaid" | "processes">,
  provider: ScriptedProvider,
  clock: Clock = systemClock,
) {
  return liveServer({ folder, options: { isPaid }, provider, processes: processes.as(2), clock });
}

describe("of a killed server", () => {
  it("a paid request in flight is of unknown outcome, and is never sent again", async () => {
    const left = await killed({ isPaid: true });
    const provider = scriptedProvider();
    const { ended } = await nextProcess(left, provider);
    expect(await ended(left.running)).toMatchObject({ status: "failed", outcome: "unknown" });
    expect(await ended(left.waiting)).toMatchObject({ status: "completed" });
    expect(provider.jobs.map(({ taskId }) => taskId)).toEqual([left.waiting]);
  });

  it("a paid request stays one for a process that takes the generator for a free one", async () => {
    const left = await killed({ isPaid: true });
    const provider = scriptedProvider(() => failing("lost", "HTTP 524"));
    const { ended } = await nextProcess({ ...left, isPaid: false }, provider);
    expect(await ended(left.running)).toMatchObject({ status: "failed", outcome: "unknown" });
    expect(await ended(left.waiting)).toMatchObject({ status: "failed", outcome: "unknown" });
    expect(provider.jobs.map(({ taskId }) => taskId)).toEqual([left.waiting]);
  });

  it("free tasks are sent again, the oldest first, without being asked about", async () => {
    const left = await killed({ isPaid: false });
    const provider = scriptedProvider();
    await nextProcess(left, provider);
    await provider.sent(2);
    expect(provider.jobs.map(({ taskId }) => taskId)).toEqual([left.running, left.waiting]);
  });

  it.each([true, false])(
    "a reply that had arrived to its last byte is the image (paid: %s)",
    async (isPaid) => {
      const left = await killed({ isPaid });
      const provider = scriptedProvider();
      provider.recover = (job) => drawn(job, { total_tokens: 7 });
      const { ended } = await nextProcess(left, provider);
      expect(await ended(left.running)).toMatchObject({ status: "completed", usage: { total_tokens: 7 } });
      expect(provider.jobs.map(({ taskId }) => taskId)).not.toContain(left.running);
    },
  );

  it("the other images of a task are made all the same", async () => {
    const left = await killed({ isPaid: true, maxImages: 3 });
    const provider = scriptedProvider();
    const { ended } = await nextProcess(left, provider);
    const data = await ended(left.running);
    expect(data).toMatchObject({ status: "completed", resultUrl: [expect.any(String), expect.any(String)] });
    expect(data.detail).toMatch(/the process that sent it ended before the reply arrived/);
    const ofTask = provider.jobs.filter(({ taskId }) => taskId === left.running);
    expect(ofTask.map(({ index }) => index)).toEqual([1, 2]);
  });
});

it("a task whose file cannot be read is named once, and the others go on", async () => {
  const left = await killed({ isPaid: false });
  const open = path.join(left.folder, "tasks", "open");
  await writeFile(path.join(open, "20200101T000000000-0123abcd.jsonl"), "no json\nno json\n");
  const { ended, events } = await nextProcess(left, scriptedProvider(), quickClock);
  expect(await ended(left.waiting)).toMatchObject({ status: "completed" });
  await pause(MANY_SEARCHES_MS);
  expect(events.filter(({ kind }) => kind === "dropped")).toHaveLength(1);
});

it("a request of another machine, where nobody can ask whether it lives, is respected until it must have ended", async () => {
  const folder = await temporaryFolder();
  const there = { self: identity(1, "there"), isAlive: () => true };
  const taskId = await processIn(folder, there, true).sent({ prompt: "a fox", model: "sdxl" });
  const provider = scriptedProvider();
  const { poll } = await liveServer({ folder, provider, processes: someProcesses().as(2) });
  expect(dataOf(await poll(taskId)).status).toBe("processing");
  expect(provider.jobs).toEqual([]);
});

it("two machines that both take a task for theirs send one request", async () => {
  const folder = await temporaryFolder();
  const open: (() => void)[] = [];
  const provider = scriptedProvider(async (job, { onSent }) => {
    onSent();
    await new Promise<void>((resolve) => open.push(resolve));
    return drawn(job);
  });
  const machine = (host: string) => ({
    folder,
    provider,
    options: { isPaid: true, concurrency: 2 },
    clock: quickClock,
    processes: {
      self: identity(1, host),
      isAlive: (other: { host: string }) => (other.host === host ? true : null),
    },
  });
  const [a, b] = [await liveServer(machine("a")), await liveServer(machine("b"))];
  const blocking = await a.accepted({ prompt: "a fox" });
  await provider.sent(1);
  await pause(MANY_SEARCHES_MS);
  expect(provider.jobs).toHaveLength(1);
  open[0]?.();
  expect(await a.ended(blocking)).toMatchObject({ status: "completed" });
  expect(await b.ended(blocking)).toMatchObject({ status: "completed" });
  expect(provider.jobs).toHaveLength(1);
});

it("a free task that takes its time is not sent again by the searches for tasks", async () => {
  const provider = scriptedProvider((_job, how) => endless(how));
  const { accepted, poll } = await liveServer({ provider, clock: quickClock });
  const taskId = await accepted({ prompt: "a fox" });
  await provider.sent(1);
  await pause(MANY_SEARCHES_MS);
  expect(dataOf(await poll(taskId)).status).toBe("processing");
  expect(provider.jobs).toHaveLength(1);
});
