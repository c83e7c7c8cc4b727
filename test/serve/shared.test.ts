import { expect, it } from "vitest";
import { someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { pause } from "../support/wait.ts";
import { drawn, endless, failing, scriptedProvider } from "./provider-script.ts";
import { dataOf, liveServer } from "./serve-world.ts";

/** As many services as processes, on one folder and with one generator. */
async function several(count: number, options: Parameters<typeof liveServer>[0]) {
  const folder = await temporaryFolder();
  const pids = Array.from({ length: count }, (_, index) => index + 1);
  const processes = someProcesses(...pids);
  return Promise.all(pids.map((pid) => liveServer({ ...options, folder, processes: processes.as(pid) })));
}

it("four processes with one place never have two requests open, and send each once", async () => {
  const provider = scriptedProvider(async (job) => {
    await pause(50);
    return drawn(job);
  });
  const services = await several(4, { provider });
  const tasks: { taskId: string; ended: () => Promise<unknown> }[] = [];
  for (let round = 0; round < 3; round++) {
    for (const { accepted, ended } of services) {
      const taskId = await accepted({ prompt: "a fox" });
      tasks.push({ taskId, ended: () => ended(taskId) });
      await pause(2);
    }
  }
  await Promise.all(tasks.map(({ ended }) => ended()));
  expect(provider.mostOpen).toBe(1);
  const sent = provider.jobs.map(({ taskId }) => taskId);
  expect(sent.sort()).toEqual(tasks.map(({ taskId }) => taskId).sort());
});

it("two places are taken by two processes at once, and a third waits in the queue", async () => {
  const provider = scriptedProvider((_job, deps) => endless(deps));
  const [a, b, c] = await several(3, { provider, options: { concurrency: 2 } });
  await a?.accepted({ prompt: "a fox" });
  await b?.accepted({ prompt: "a hare" });
  await provider.sent(2);
  const taskId = (await c?.accepted({ prompt: "an owl" })) ?? "";
  await expect.poll(async () => c && dataOf(await c.poll(taskId)).status).toBe("queued");
  expect(a && dataOf(await a.poll(taskId)).status).toBe("queued");
  expect(provider.jobs).toHaveLength(2);
});

it("a process that starts after a refusal tries the account again", async () => {
  const folder = await temporaryFolder();
  const refused = await liveServer({ folder, provider: scriptedProvider(() => failing("account")) });
  const taskId = await refused.accepted({ prompt: "a fox" });
  await expect.poll(async () => (await refused.poll(taskId)).body.message).toBe("login_required");
  await refused.close();
  const { ended } = await liveServer({ folder });
  expect(await ended(taskId)).toMatchObject({ status: "completed" });
});
