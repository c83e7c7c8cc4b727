import { expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { systemProcesses } from "../../src/lib/processes.ts";
import { failedPoll } from "../../src/providers/failures.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { Ledger } from "../../src/store/ledger.ts";
import { counted } from "../support/counted.ts";
import { quickClock } from "../support/quick-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { scriptedProvider } from "./provider-script.ts";
import { dataOf, liveServer } from "./serve-world.ts";

/** A provider that accepts every task under an id, and is at work on all of them. */
function accepting() {
  const [submitted, polled]: [string[], Set<string>] = [[], new Set()];
  const provider: Provider = {
    ...scriptedProvider(),
    async submit({ taskId }, { onSent }) {
      onSent();
      submitted.push(taskId);
      return { outcome: "accepted", taskId: `their-${taskId}` };
    },
    async poll(taskId) {
      polled.add(taskId);
      return { outcome: "state", task: { status: "running", providerState: "processing" } };
    },
  };
  return { provider, submitted, polled };
}

it("tasks that their provider has accepted take no place, and the next server polls them without a request", async () => {
  const folder = await temporaryFolder();
  const first = accepting();
  const live = await liveServer({ folder, provider: first.provider, options: { isPaid: true } });
  const tasks = await Promise.all(Array.from({ length: 10 }, () => live.accepted({ prompt: "a fox" })));
  await expect.poll(() => first.submitted).toHaveLength(10);
  await expect.poll(async () => dataOf(await live.poll(tasks[9] ?? "")).status).toBe("processing");
  await live.close();
  const second = accepting();
  await liveServer({ folder, provider: second.provider, options: { isPaid: true } });
  await expect.poll(() => second.polled.size).toBe(10);
  expect(second.submitted).toEqual([]);
});

it("the progress that a provider reports of an accepted job is in the reply to a poll", async () => {
  const { provider } = accepting();
  provider.follow = async (_taskId, { onProgress, signal }) => {
    onProgress(0.4);
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    return false;
  };
  const live = await liveServer({ provider });
  const taskId = await live.accepted({ prompt: "a fox" });
  await expect
    .poll(async () => dataOf(await live.poll(taskId)))
    .toMatchObject({ status: "processing", progress: 0.4 });
});

it("a job whose provider reports its end is polled at once, long before its next poll is due", async () => {
  const { provider } = accepting();
  const polls = counted();
  provider.poll = async () => {
    polls.add();
    return { outcome: "state", task: { status: "running", providerState: null } };
  };
  provider.follow = async () => {
    await polls.reached(1);
    return true;
  };
  // No further poll is due by itself.
  const never = (signal?: AbortSignal) =>
    new Promise<void>((_resolve, reject) => signal?.addEventListener("abort", reject, { once: true }));
  const sleep = (ms: number, signal?: AbortSignal) =>
    ms < 100 ? systemClock.sleep(ms, signal) : never(signal);
  const live = await liveServer({ provider, clock: { ...systemClock, sleep } });
  await live.accepted({ prompt: "a fox" });
  await expect.poll(() => polls.count).toBe(2);
});

it("a job that its provider no longer knows has ended for clients, and is left open for resume", async () => {
  const folder = await temporaryFolder();
  const { provider } = accepting();
  provider.poll = async () => failedPoll("HTTP 404", { isMissing: true });
  const live = await liveServer({ folder, provider, options: { isPaid: true }, clock: quickClock });
  const taskId = await live.accepted({ prompt: "a fox" });
  await expect.poll(async () => dataOf(await live.poll(taskId)).status).toBe("failed");
  await live.close();
  const open = await new Ledger(folder, systemClock, systemProcesses()).unfinished();
  expect(open).toMatchObject([
    { task: { state: "accepted", requests: [{ attempt: { goneReason: "HTTP 404" } }] } },
  ]);
});
