import { request } from "undici";
import { describe, expect, it } from "vitest";
import { png } from "../../support/images.ts";
import { drawn, endless, failing, scriptedGenerator } from "../../support/scripted-generator.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { dataOf, liveGenerator } from "./live-generator.ts";

describe("a task", () => {
  it("is generated, and its image is at the result URL", async () => {
    const generator = scriptedGenerator((job) => drawn(job, { total_tokens: 7 }));
    const { accepted, ended } = await liveGenerator({ generator, options: { fields: { steps: 4 } } });
    const taskId = await accepted({ prompt: "a fox", model: "sdxl", ratio: "16:9", quality: "2K" });
    const { resultUrl, ...data } = await ended(taskId);
    const detail = "Requested 2048×1152 pixels, received 8×6.";
    expect(data).toEqual({ taskId, status: "completed", errorCode: 0, usage: { total_tokens: 7 }, detail });
    const { headers, body } = await request(String(resultUrl));
    expect(headers["content-type"]).toBe("image/png");
    expect(Buffer.from(await body.arrayBuffer()).equals(png(0))).toBe(true);
    expect(generator.jobs).toMatchObject([
      {
        taskId,
        index: 0,
        prompt: "a fox",
        model: "sdxl",
        ratio: "16:9",
        quality: "2K",
        fields: { steps: 4 },
      },
    ]);
    expect(generator.jobs[0]).toMatchObject({ width: 2048, height: 1152, references: [] });
  });

  it("of several images is as many requests, and what is said of tokens is added up", async () => {
    const generator = scriptedGenerator((job) => drawn(job, { tokens: 2, by: { image: 1 } }));
    const { accepted, ended } = await liveGenerator({ generator });
    const data = await ended(await accepted({ prompt: "a fox", maxImages: 3 }));
    expect(data.resultUrl).toHaveLength(3);
    expect(data.usage).toEqual({ tokens: 6, by: { image: 3 } });
    expect(generator.jobs.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(generator.mostOpen).toBe(1);
  });

  it("keeps the images that were made where one is refused, and says which words refused it", async () => {
    const generator = scriptedGenerator((job) =>
      job.index === 1 ? failing("refused", "too red") : drawn(job),
    );
    const { accepted, ended } = await liveGenerator({ generator });
    const data = await ended(await accepted({ prompt: "a fox", maxImages: 3 }));
    expect(data).toMatchObject({ status: "completed", detail: "too red" });
    expect(data.resultUrl).toHaveLength(2);
  });

  it("waits while another one has the generator, and says how many are before it", async () => {
    const open: (() => void)[] = [];
    const generator = scriptedGenerator(async (job, { onProgress }) => {
      onProgress(0.25);
      await new Promise<void>((resolve) => open.push(resolve));
      return drawn(job);
    });
    const { accepted, poll, ended } = await liveGenerator({ generator });
    const first = await accepted({ prompt: "a fox" });
    const second = await accepted({ prompt: "a hare" });
    await expect.poll(() => open.length).toBe(1);
    expect(dataOf(await poll(first))).toEqual({
      taskId: first,
      status: "processing",
      errorCode: 0,
      progress: 0.25,
    });
    expect(dataOf(await poll(second))).toEqual({
      taskId: second,
      status: "queued",
      errorCode: 0,
      ahead: 1,
    });
    open.shift()?.();
    await ended(first);
    await expect.poll(() => open.length).toBe(1);
    open.shift()?.();
    await ended(second);
    expect(generator.mostOpen).toBe(1);
  });
});

describe("a task that nobody waits for any longer", () => {
  it("is not begun before it is polled again, and is known to have cost nothing", async () => {
    const generator = scriptedGenerator((job, _deps, number) =>
      number === 1 ? failing({ kind: "busy", retryAfterMs: 100 }) : drawn(job),
    );
    const { accepted, hold, events, ended } = await liveGenerator({ generator, options: { isPaid: true } });
    const taskId = await accepted({ prompt: "a fox" });
    await expect.poll(() => events).toHaveLength(1);
    await expect.poll(() => hold(taskId)).toBe(false);
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(generator.jobs).toHaveLength(1);
    expect(await ended(taskId)).toMatchObject({ status: "completed" });
    expect(generator.jobs).toHaveLength(2);
  });

  it("may have cost something from the moment on at which it has the generator", async () => {
    const { accepted, hold } = await liveGenerator({
      generator: scriptedGenerator((_job, deps) => endless(deps)),
      options: { isPaid: true },
    });
    const [first, second] = [await accepted({ prompt: "a fox" }), await accepted({ prompt: "a hare" })];
    await expect.poll(() => hold(first)).toBe(true);
    expect(hold(second)).toBe(false);
  });

  it("may be begun by another process that has it", async () => {
    const folder = await temporaryFolder();
    const generator = scriptedGenerator((_job, deps) => endless(deps));
    const { accepted } = await liveGenerator({ folder, generator });
    await accepted({ prompt: "a fox" });
    const waiting = await accepted({ prompt: "a hare" });
    const { hold } = await liveGenerator({ folder });
    expect(hold(waiting)).toBe(true);
  });
});

describe("a failure", () => {
  it.each([
    ["refused", "refused"],
    ["lost", "unknown"],
  ] as const)(
    "of a paid request that is %s fails the task as %s after one request",
    async (kind, outcome) => {
      const generator = scriptedGenerator(() => failing(kind, "the generator's words"));
      const { accepted, ended } = await liveGenerator({ generator, options: { isPaid: true } });
      expect(await ended(await accepted({ prompt: "a fox" }))).toMatchObject({
        status: "failed",
        errorCode: 1001,
        outcome,
        detail: "the generator's words",
      });
      expect(generator.jobs).toHaveLength(1);
    },
  );

  it("of a free request that is lost is sent again, twice at most", async () => {
    const generator = scriptedGenerator(() => failing("lost", "HTTP 500"));
    const { accepted, ended } = await liveGenerator({ generator });
    const data = await ended(await accepted({ prompt: "a fox" }));
    expect(data).toMatchObject({ status: "failed", outcome: "refused", detail: "HTTP 500" });
    expect(generator.jobs).toHaveLength(3);
  });

  it("of the account pauses the queue: one request, all tasks still queued, and the polls say what to do", async () => {
    const generator = scriptedGenerator(() => failing("account", "Incorrect API key provided."));
    const { accepted, poll, events } = await liveGenerator({ generator, options: { isPaid: true } });
    const tasks = await Promise.all(Array.from({ length: 20 }, () => accepted({ prompt: "a fox" })));
    await expect.poll(() => events).toHaveLength(1);
    for (const taskId of tasks) {
      // The task whose request was refused is back in the queue a moment after the event.
      await expect
        .poll(async () => (await poll(taskId)).body)
        .toEqual({ code: -1, message: "login_required", detail: "Incorrect API key provided." });
    }
    expect(generator.jobs).toHaveLength(1);
    expect(events).toEqual([
      { kind: "paused", key: "login_required", detail: "Incorrect API key provided." },
    ]);
  });

  it("that nothing was sent is waited out, and the task is generated after all", async () => {
    const generator = scriptedGenerator((job, _deps, number) =>
      number === 1 ? failing("unreachable", "connection refused") : drawn(job),
    );
    const { accepted, poll, ended } = await liveGenerator({ generator, options: { isPaid: true } });
    const taskId = await accepted({ prompt: "a fox" });
    await expect.poll(async () => dataOf(await poll(taskId)).detail).toBe("connection refused");
    expect(await ended(taskId)).toMatchObject({ status: "completed" });
    expect(generator.jobs).toHaveLength(2);
  });

  it("to answer in time is a lost request; a free generator's slot stays closed as long again", async () => {
    const generator = scriptedGenerator((job, deps, number) => (number === 1 ? endless(deps) : drawn(job)));
    const { accepted, ended, poll } = await liveGenerator({ generator, options: { timeoutMs: 1_500 } });
    const taskId = await accepted({ prompt: "a fox" });
    await expect
      .poll(async () => dataOf(await poll(taskId)).detail, { timeout: 5_000 })
      .toBe("The generator may still be at work on a request that timed out.");
    expect(await ended(taskId)).toMatchObject({ status: "completed" });
    expect(generator.jobs).toHaveLength(2);
  });
});
