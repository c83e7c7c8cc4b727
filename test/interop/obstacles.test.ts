import { rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import type { Clock } from "../../src/lib/clock.ts";
import { failedPoll } from "../../src/providers/failures.ts";
import type { Provider } from "../../src/providers/provider.ts";
import type { RequestLine } from "../../src/server/http.ts";
import { drawn, failing, scriptedProvider } from "../serve/provider-script.ts";
import { quickClock } from "../support/quick-clock.ts";
import { pause } from "../support/wait.ts";
import { clientFor, failure, heldProvider, withOpenAi } from "./openai-client.ts";

const PAID = { options: { isPaid: true } };
const FOX = { prompt: "a fox" };
const KEY = { headers: { "Idempotency-Key": "k" } };

/** A server whose generator is down until it is up. */
async function down(clock: Clock = quickClock) {
  let isUp = false;
  const provider = scriptedProvider((job) => (isUp ? drawn(job) : failing("unsent", "Connection refused.")));
  const server = await withOpenAi({ provider, ...PAID, clock });
  /** The requests that have reached the generator. */
  let paid = 0;
  const start = () => {
    isUp = true;
    paid = provider.jobs.length;
  };
  return { ...server, provider, start, paid: () => provider.jobs.length - paid };
}

describe("a generator that is down", () => {
  it.each([undefined, KEY])("is answered as such, and nothing is sent later (%j)", async (options) => {
    const { openai, ledger, start, paid } = await down();
    const before = quickClock.monotonicMs();
    expect(await failure(openai.images.generate(FOX, options))).toMatchObject({
      status: 503,
      code: "generator_unreachable",
      message: expect.stringContaining("onnection refused."),
    });
    expect(quickClock.monotonicMs() - before).toBeLessThan(15_000);
    expect(await ledger.unfinished()).toEqual([]);
    start();
    await quickClock.sleep(40_000);
    expect(paid()).toBe(0);
  });

  it("that is back is asked by the next request at once, by the same key too", async () => {
    const { openai, start, paid } = await down();
    for (const _each of [1, 2, 3, 4]) {
      expect(await failure(openai.images.generate(FOX, KEY))).toMatchObject({ status: 503 });
      await quickClock.sleep(1_500);
    }
    start();
    expect((await openai.images.generate(FOX, KEY)).data).toHaveLength(1);
    expect((await openai.images.generate(FOX, KEY)).data).toHaveLength(1);
    expect(paid()).toBe(1);
  });

  it("is answered to every client that waits, and leaves tasks of the document's API in the queue", async () => {
    const { openai, accepted, ended, start, paid } = await down();
    const taskId = await accepted({ prompt: "a hare" });
    const calls = [1, 2, 3].map((n) => failure(openai.images.generate({ prompt: `fox ${n}` })));
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ status: 503 });
    start();
    expect(await ended(taskId)).toMatchObject({ status: "completed" });
    expect(paid()).toBe(1);
  });

  it("that does not accept connections is tried once, and answered to all that wait", async () => {
    const haveCome = async () => (await server.ledger.unfinished()).length === 3;
    const provider = scriptedProvider(async () => {
      while (!(await haveCome())) await pause(5);
      return failing("unsent", "The connection timed out.");
    });
    const server = await withOpenAi({ provider, ...PAID, clock: quickClock });
    const { openai } = server;
    const calls = [1, 2, 3].map((n) => failure(openai.images.generate({ prompt: `fox ${n}` })));
    for (const error of await Promise.all(calls)) expect(error).toMatchObject({ status: 503 });
    expect(provider.jobs).toHaveLength(1);
  });

  it("has what it made before delivered, and the other images of the request are dropped", async () => {
    const provider = scriptedProvider((job, _how, number) =>
      number === 1 ? drawn(job) : failing("unsent", "Connection refused."),
    );
    const { openai, ledger } = await withOpenAi({ provider, ...PAID, clock: quickClock });
    expect((await openai.images.generate({ ...FOX, n: 3 })).data).toHaveLength(1);
    expect(await ledger.unfinished()).toEqual([]);
  });

  it.each(["lost", "refused"] as const)(
    "after the first image of a request was %s is 422: a client that repeats it would pay again",
    async (kind) => {
      const provider = scriptedProvider((_job, _how, number) =>
        number === 1 ? failing(kind, "HTTP 502") : failing("unsent", "Connection refused."),
      );
      const { openai, ledger } = await withOpenAi({ provider, ...PAID, clock: quickClock });
      expect(await failure(openai.images.generate({ ...FOX, n: 3 }))).toMatchObject({ status: 422 });
      expect((await ledger.unfinished()).map((entry) => entry.kind === "task" && entry.task.state)).toEqual(
        kind === "lost" ? ["unknown"] : [],
      );
    },
  );
});

describe("replies that are lost", () => {
  it("are never repeated, and others are not sent for 15 s: nobody pays for a try", async () => {
    const provider = scriptedProvider(() => failing("lost", "HTTP 502"));
    const { openai } = await withOpenAi({ provider, ...PAID, clock: quickClock });
    for (const number of [1, 2, 3])
      expect(await failure(openai.images.generate({ prompt: `fox ${number}` }))).toMatchObject({
        status: 422,
        code: "outcome_unknown",
      });
    // An outage by now. One more may be the next try.
    const errors = await Promise.all(
      [4, 5, 6].map((number) => failure(openai.images.generate({ prompt: `fox ${number}` }))),
    );
    const statuses = errors.map(({ status }) => status);
    expect(statuses.every((status) => status === 422 || status === 503)).toBe(true);
    expect(provider.jobs).toHaveLength(3 + statuses.filter((status) => status === 422).length);
  });

  it("of a free generator are 422 too", async () => {
    const provider = scriptedProvider(() => failing("lost", "HTTP 500"));
    const { openai } = await withOpenAi({ provider, clock: quickClock });
    expect(await failure(openai.images.generate(FOX))).toMatchObject({
      status: 422,
      code: "generation_failed",
      message: expect.stringMatching(/HTTP 500\. To check the task: imggen status task_/),
    });
  });
});

describe("after something was sent", () => {
  const LOOKUP = /To check the task: imggen status task_[0-9a-f]{20}$/;

  it.each([
    [true, "outcome_unknown"],
    [false, "generation_failed"],
  ] as const)("a job that its generator no longer knows is 422 (paid: %s)", async (isPaid, code) => {
    const provider: Provider = {
      ...scriptedProvider(),
      submit: async ({ taskId }, { onSent }) => {
        onSent();
        return { outcome: "accepted", taskId: `their-${taskId}` };
      },
      poll: async () => failedPoll("HTTP 404", { isMissing: true }),
    };
    const { openai } = await withOpenAi({ provider, options: { isPaid }, clock: quickClock });
    const error = await failure(openai.images.generate(FOX));
    expect(error).toMatchObject({ status: 422, code, message: expect.stringMatching(LOOKUP) });
    expect(error.message).toContain("HTTP 404.");
  });

  it("an image that is no longer there is 422, of a repeated request", async () => {
    const { openai, folder } = await withOpenAi({ ...PAID });
    await openai.images.generate(FOX, KEY);
    await rm(path.join(folder, "files"), { recursive: true });
    expect(await failure(openai.images.generate(FOX, KEY))).toMatchObject({
      status: 422,
      code: "not_kept",
      message: expect.stringMatching(LOOKUP),
    });
  });

  it("an exception is 422 too, and its words go to the log alone", async () => {
    const lines: RequestLine[] = [];
    const provider = Object.defineProperty(scriptedProvider(), "supports", {
      get() {
        throw new TypeError("no such secret");
      },
    });
    const { openai } = await withOpenAi({ provider, onRequest: (line) => lines.push(line) });
    const error = await failure(openai.images.generate(FOX));
    expect(error).toMatchObject({ status: 422, code: "internal" });
    expect(error.message).not.toContain("secret");
    expect(lines).toMatchObject([{ status: 422, note: "TypeError: no such secret" }]);
  });
});

it.each(["calls", "tasks"])(
  "a disk that refuses the record (%s) is HTTP 503, and nothing is sent",
  async (name) => {
    const provider = scriptedProvider();
    const { openai, folder } = await withOpenAi({ provider, ...PAID });
    await rm(path.join(folder, name), { recursive: true, force: true });
    await writeFile(path.join(folder, name), "");
    expect(await failure(openai.images.generate(FOX))).toMatchObject({ status: 503, code: "disk" });
    expect(provider.jobs).toEqual([]);
  },
);

describe("the status", () => {
  it("is that of the error, however long it took", async () => {
    const provider = scriptedProvider(async () => {
      await quickClock.sleep(45_000);
      return failing("refused", "no");
    });
    const { openai } = await withOpenAi({ provider, ...PAID, clock: quickClock });
    expect(await failure(openai.images.generate(FOX))).toMatchObject({ status: 422 });
    expect(provider.jobs).toHaveLength(1);
  });

  it("does not come before the image, so that the client's own time-out counts", async () => {
    const { provider, answer } = heldProvider();
    const server = await withOpenAi({ provider, ...PAID, clock: quickClock });
    const client = clientFor(server, server.port, { timeout: 2_500, maxRetries: 0 });
    await expect(client.images.generate(FOX)).rejects.toThrow("timed out");
    await answer(1);
  });
});
