import { request } from "undici";
import { describe, expect, it } from "vitest";
import { png } from "../support/images.ts";
import { drawn, failing, scriptedProvider } from "./provider-script.ts";
import { dataOf, liveServer } from "./serve-world.ts";

describe("a task", () => {
  it("is generated, and its image is at the result URL", async () => {
    const provider = scriptedProvider((job) => drawn(job, { total_tokens: 7 }));
    const { accepted, ended } = await liveServer({
      provider,
      options: { defaults: { fields: { steps: 4 } } },
    });
    const taskId = await accepted({ prompt: "a fox", model: "sdxl", ratio: "16:9", quality: "2K" });
    const { resultUrl, ...data } = await ended(taskId);
    const detail = "Requested 2048×1152 pixels, received 8×6.";
    expect(data).toEqual({ taskId, status: "completed", errorCode: 0, usage: { total_tokens: 7 }, detail });
    const { headers, body } = await request(String(resultUrl));
    expect(headers["content-type"]).toBe("image/png");
    expect(Buffer.from(await body.arrayBuffer()).equals(png(0))).toBe(true);
    expect(provider.jobs).toMatchObject([
      {
        taskId,
        index: 0,
        request: { prompt: "a fox", model: "sdxl", ratio: "16:9", quality: "2K" },
        options: { fields: { steps: 4 }, width: 2048, height: 1152 },
        references: [],
      },
    ]);
  });

  it("has a seed, a negative prompt and fields, and its images the seeds that follow", async () => {
    const provider = scriptedProvider();
    const { accepted, ended } = await liveServer({ provider });
    const fields = { steps: 20, cfg: { scale: 1.5 } };
    await ended(await accepted({ prompt: "a fox", maxImages: 2, seed: 7, negative: "rain", fields }));
    expect(provider.jobs.map(({ options }) => options.fields)).toEqual([
      { ...fields, negative: "rain", seed: 7 },
      { ...fields, negative: "rain", seed: 8 },
    ]);
  });

  it("waits while another one has the provider, and says how many are before it", async () => {
    const open: (() => void)[] = [];
    const provider = scriptedProvider(async (job, { onProgress }) => {
      onProgress(0.25);
      await new Promise<void>((resolve) => open.push(resolve));
      return drawn(job);
    });
    const { accepted, poll, ended } = await liveServer({ provider });
    const first = await accepted({ prompt: "a fox" });
    const second = await accepted({ prompt: "a hare" });
    await provider.sent(1);
    expect(dataOf(await poll(first))).toEqual({
      taskId: first,
      status: "processing",
      errorCode: 0,
      progress: 0.25,
    });
    await expect
      .poll(async () => dataOf(await poll(second)))
      .toEqual({
        taskId: second,
        status: "queued",
        errorCode: 0,
        ahead: 1,
        detail: "The task waits for another task of this process.",
      });
    open.shift()?.();
    await ended(first);
    await provider.sent(2);
    open.shift()?.();
    await ended(second);
    expect(provider.mostOpen).toBe(1);
  });
});

describe("a failure", () => {
  it.each([
    ["refused", "refused"],
    ["lost", "unknown"],
  ] as const)(
    "of a paid request that is %s fails the task as %s after one request",
    async (kind, outcome) => {
      const provider = scriptedProvider(() => failing(kind, "the generator's words"));
      const { accepted, ended } = await liveServer({ provider, options: { isPaid: true } });
      expect(await ended(await accepted({ prompt: "a fox" }))).toMatchObject({
        status: "failed",
        errorCode: 1001,
        outcome,
        detail: "The generator's words.",
      });
      expect(provider.jobs).toHaveLength(1);
    },
  );

  it("of a free request that is lost is sent again, twice at most", async () => {
    const provider = scriptedProvider(() => failing("lost", "HTTP 500"));
    const { accepted, ended } = await liveServer({ provider });
    const data = await ended(await accepted({ prompt: "a fox" }));
    expect(data).toMatchObject({ status: "failed", outcome: "refused", detail: "HTTP 500." });
    expect(provider.jobs).toHaveLength(3);
  });

  it("of the account pauses the queue: one request, all tasks still queued, and the polls say what to do", async () => {
    const provider = scriptedProvider(() => failing("account", "Incorrect API key provided."));
    const { accepted, poll, events } = await liveServer({ provider, options: { isPaid: true } });
    const tasks = await Promise.all(Array.from({ length: 20 }, () => accepted({ prompt: "a fox" })));
    await expect.poll(() => events).toHaveLength(1);
    for (const taskId of tasks) {
      // The task whose request was refused is back in the queue a moment after the event.
      await expect
        .poll(async () => (await poll(taskId)).body)
        .toEqual({ code: -1, message: "login_required", detail: "Incorrect API key provided." });
    }
    expect(provider.jobs).toHaveLength(1);
    expect(events).toEqual([{ kind: "paused", detail: "Incorrect API key provided." }]);
  });

  it("that nothing was sent is waited out, and the task is generated after all", async () => {
    const provider = scriptedProvider((job, _how, number) =>
      number === 1 ? failing("unsent", "connection refused") : drawn(job),
    );
    const { accepted, poll, ended } = await liveServer({ provider, options: { isPaid: true } });
    const taskId = await accepted({ prompt: "a fox" });
    await expect.poll(async () => dataOf(await poll(taskId)).detail).toBe("connection refused");
    expect(await ended(taskId)).toMatchObject({ status: "completed" });
    expect(provider.jobs).toHaveLength(2);
  });
});
