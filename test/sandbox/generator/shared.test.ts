import { expect, it } from "vitest";
import { drawn, endless, failing, scriptedGenerator } from "../../support/scripted-generator.ts";
import { someProcesses } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { dataOf, liveGenerator } from "./live-generator.ts";

/** As many services as processes, on one folder and with one generator. */
async function several(count: number, options: Parameters<typeof liveGenerator>[0]) {
  const folder = await temporaryFolder();
  const pids = Array.from({ length: count }, (_, index) => index + 1);
  const processes = someProcesses(...pids);
  return Promise.all(pids.map((pid) => liveGenerator({ ...options, folder, processes: processes.as(pid) })));
}

it("four processes with one place never have two requests open, and send them in the order of their submits", async () => {
  const generator = scriptedGenerator(async (job) => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return drawn(job);
  });
  const services = await several(4, { generator });
  const tasks: { taskId: string; ended: () => Promise<unknown> }[] = [];
  for (let round = 0; round < 3; round++) {
    for (const { accepted, ended } of services) {
      const taskId = await accepted({ prompt: "a fox" });
      tasks.push({ taskId, ended: () => ended(taskId) });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
  await Promise.all(tasks.map(({ ended }) => ended()));
  expect(generator.mostOpen).toBe(1);
  expect(generator.jobs.map(({ taskId }) => taskId)).toEqual(tasks.map(({ taskId }) => taskId));
}, 20_000);

it("two places are taken by two processes at once, and a third waits in the queue", async () => {
  const generator = scriptedGenerator((_job, deps) => endless(deps));
  const [a, b, c] = await several(3, { generator, options: { concurrency: 2 } });
  await a?.accepted({ prompt: "a fox" });
  await b?.accepted({ prompt: "a hare" });
  await expect.poll(() => generator.jobs).toHaveLength(2);
  const taskId = (await c?.accepted({ prompt: "an owl" })) ?? "";
  await expect.poll(async () => c && dataOf(await c.poll(taskId)).status).toBe("queued");
  expect(a && dataOf(await a.poll(taskId)).status).toBe("queued");
  expect(generator.jobs).toHaveLength(2);
});

it("a refused account is learned by one request, whichever process sends it", async () => {
  const generator = scriptedGenerator(async () => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return failing({ kind: "account", key: "my_credits.no_credits_description" }, "You exceeded your quota.");
  });
  const services = await several(4, { generator, options: { isPaid: true } });
  const tasks = await Promise.all(services.map(({ accepted }) => accepted({ prompt: "a fox" })));
  for (const [index, { poll }] of services.entries()) {
    const paused = {
      code: -1,
      message: "my_credits.no_credits_description",
      detail: "You exceeded your quota.",
    };
    await expect.poll(async () => (await poll(tasks[index] ?? "")).body, { timeout: 5_000 }).toEqual(paused);
  }
  expect(generator.jobs).toHaveLength(1);
});

it("a process that starts after a refusal tries the account again", async () => {
  const folder = await temporaryFolder();
  const refused = await liveGenerator({ folder, generator: scriptedGenerator(() => failing("account")) });
  const taskId = await refused.accepted({ prompt: "a fox" });
  await expect.poll(async () => (await refused.poll(taskId)).body.message).toBe("login_required");
  await refused.close();
  const { ended } = await liveGenerator({ folder });
  expect(await ended(taskId)).toMatchObject({ status: "completed" });
});
