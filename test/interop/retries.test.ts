import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { drawn, endless, failing, scriptedProvider } from "../serve/provider-script.ts";
import { liveServer } from "../serve/serve-world.ts";
import { png } from "../support/images.ts";
import { quickClock } from "../support/quick-clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { clientFor, cutting, heldProvider, imageOf, withOpenAi } from "./openai-client.ts";

const PAID = { options: { isPaid: true } };
const FOX = { prompt: "a fox" };
const RETRY = { "x-stainless-retry-count": "1" };
const MINUTE_MS = 60_000;

/** A clock that is so much later than the system's. */
const later = (ms: number) => ({ ...systemClock, now: () => systemClock.now() + ms });

/** A server whose images are told apart by their number, and what asks it without OpenAI's client. */
async function numbered(live: Parameters<typeof liveServer>[0] = {}) {
  const provider = scriptedProvider((job) => drawn(job));
  const server = await liveServer({ provider, ...PAID, ...live });
  const send = async (path: string, body: FormData | string, headers: Record<string, string> = {}) => {
    const type = typeof body === "string" ? { "content-type": "application/json" } : {};
    const authorization = `Bearer ${server.apiKey}`;
    const url = `http://127.0.0.1:${server.port}${path}`;
    const reply = await fetch(url, { method: "POST", body, headers: { authorization, ...type, ...headers } });
    return { status: reply.status, body: JSON.parse(await reply.text()) };
  };
  const generate = (fields: object, headers?: Record<string, string>) =>
    send("/v1/images/generations", JSON.stringify(fields), headers);
  return { ...server, provider, send, generate };
}

describe("OpenAI's client", () => {
  it("whose connection is cut twice gets one image for one paid request", async () => {
    const { provider, answer } = heldProvider();
    const server = await withOpenAi({ provider, ...PAID });
    const proxy = await cutting(server.port);
    const call = clientFor(server, proxy.port).images.generate(FOX);
    await provider.sent(1);
    proxy.cut();
    await proxy.requests.reached(2);
    proxy.cut();
    await proxy.requests.reached(3);
    await answer(1);
    expect(imageOf(await call).equals(png())).toBe(true);
    expect(provider.jobs).toHaveLength(1);
  });

  it("whose own time-out is over twice gets one image for one paid request", async () => {
    const { provider, answer } = heldProvider();
    const server = await withOpenAi({ provider, ...PAID });
    const proxy = await cutting(server.port);
    const call = clientFor(server, proxy.port, { timeout: 1_000 }).images.generate(FOX);
    await proxy.requests.reached(3);
    await answer(1);
    expect((await call).data).toHaveLength(1);
    expect(provider.jobs).toHaveLength(1);
  });

  it("gets the image that was finished while it was away", async () => {
    const { provider, answer } = heldProvider();
    const server = await withOpenAi({ provider, ...PAID });
    const proxy = await cutting(server.port);
    const call = clientFor(server, proxy.port).images.generate(FOX);
    await provider.sent(1);
    proxy.cut();
    await answer(1);
    expect((await call).data).toHaveLength(1);
    expect(provider.jobs).toHaveLength(1);
  });

  it("that asks twice on purpose gets two images, though both connections are cut", async () => {
    let number = 0;
    const open: (() => void)[] = [];
    const provider = scriptedProvider(async (job, { onSent }) => {
      number += 1;
      const index = number;
      onSent();
      await new Promise<void>((resolve) => open.push(resolve));
      return drawn({ ...job, index });
    });
    const server = await withOpenAi({ provider, options: { isPaid: true, concurrency: 2 } });
    const proxy = await cutting(server.port);
    const calls = [1, 2].map(() => clientFor(server, proxy.port).images.generate(FOX));
    await provider.sent(2);
    proxy.cut();
    await proxy.requests.reached(4);
    for (const answer of open) answer();
    const images = (await Promise.all(calls)).map((result) => imageOf(result).toString("base64"));
    expect(new Set(images)).toEqual(new Set([1, 2].map((each) => png(each).toString("base64"))));
    expect(provider.jobs).toHaveLength(2);
  });

  it("gets what is made within the grace period of its server", async () => {
    const { provider, answer } = heldProvider();
    const server = await withOpenAi({ provider, options: { isPaid: true, concurrency: 2 }, graceMs: 5_000 });
    const openai = clientFor(server, server.port, { maxRetries: 0 });
    const calls = [openai.images.generate(FOX), openai.images.generate(FOX)];
    await provider.sent(2);
    const closing = server.close();
    await answer(1);
    await answer(2);
    for (const call of calls) expect((await call).data).toHaveLength(1);
    await closing;
  });

  it("gets its image from the next server, of one paid request, if its server is closed", async () => {
    const folder = await temporaryFolder();
    const { provider, answer } = heldProvider();
    const first = await withOpenAi({ folder, provider, ...PAID, graceMs: 5_000 });
    const proxy = await cutting(first.port);
    const call = clientFor(first, proxy.port, { maxRetries: 0 }).images.generate(FOX);
    const lost = expect(call).rejects.toThrow();
    await provider.sent(1);
    proxy.cut();
    await lost;
    await Promise.all([answer(1), first.close()]);
    const second = await withOpenAi({ folder, provider, ...PAID });
    expect((await second.openai.images.generate(FOX, { headers: RETRY })).data).toHaveLength(1);
    expect(provider.jobs).toHaveLength(1);
  });
});

describe("a retry", () => {
  it("without an equal earlier request is a new one, and so is each first attempt", async () => {
    const { generate, provider } = await numbered();
    await generate(FOX, RETRY);
    await generate(FOX);
    await generate(FOX, { "x-stainless-retry-count": "0" });
    expect(provider.jobs).toHaveLength(3);
    await generate({ prompt: "a hare" }, RETRY);
    await generate(FOX, { "x-stainless-retry-count": "2" });
    expect(provider.jobs).toHaveLength(4);
  });

  it.each(["01", "1, 1", "1.0", "+1"])("is told by any count from 1 on, also %j", async (count) => {
    const { generate, provider } = await numbered();
    await generate(FOX);
    await generate(FOX, { "x-stainless-retry-count": count });
    expect(provider.jobs).toHaveLength(1);
  });

  it.each(["0", "-1", "", "first"])("is not told by a count of %j", async (count) => {
    const { generate, provider } = await numbered();
    await generate(FOX);
    await generate(FOX, { "x-stainless-retry-count": count });
    expect(provider.jobs).toHaveLength(2);
  });

  it("is told by path and content alone, whatever the boundary of a form and the order of fields", async () => {
    const { send, generate, provider } = await numbered();
    const form = (seed = 1) => {
      const fields = new FormData();
      fields.set("prompt", "a fox");
      fields.set("image", new File([new Uint8Array(png(seed))], "a.png"));
      return fields;
    };
    await send("/v1/images/edits", form());
    await send("/v1/images/edits", form(), RETRY);
    expect(provider.jobs).toHaveLength(1);
    await send("/v1/images/edits", form(2), RETRY);
    expect(provider.jobs).toHaveLength(2);
    await generate({ prompt: "a fox", n: 1 });
    await generate({ n: 1, prompt: "a fox" }, RETRY);
    expect(provider.jobs).toHaveLength(3);
    await send("/v1/images/edits", JSON.stringify({ prompt: "a fox", n: 1, image: "https://a.b/c" }), RETRY);
    expect(provider.jobs).toHaveLength(4);
  });

  it("finds its request within a quarter of an hour after its end or last retry", async () => {
    const folder = await temporaryFolder();
    const first = await numbered({ folder });
    await first.generate(FOX);
    await first.close();
    const { provider } = first;
    for (const [afterMs, count] of [
      [14 * MINUTE_MS, 1],
      [28 * MINUTE_MS, 1],
      [44 * MINUTE_MS, 2],
    ] as const) {
      const next = await numbered({ folder, provider, clock: later(afterMs) });
      await next.generate(FOX, RETRY);
      await next.close();
      expect(provider.jobs).toHaveLength(count);
    }
  });

  it("finds a request that its client left within a quarter of an hour after its end, however long it took", async () => {
    let passedMs = 0;
    const clock = { ...systemClock, now: () => systemClock.now() + passedMs };
    const { provider, answer } = heldProvider();
    const server = await numbered({ provider, clock });
    const proxy = await cutting(server.port);
    const call = clientFor(server, proxy.port, { maxRetries: 0 }).images.generate(FOX);
    await provider.sent(1);
    proxy.cut();
    await expect(call).rejects.toThrow();
    passedMs = 20 * MINUTE_MS;
    await answer(1);
    await expect.poll(() => server.ledger.unfinished()).toEqual([]);
    expect(await server.generate(FOX, RETRY)).toMatchObject({ status: 200 });
    expect(provider.jobs).toHaveLength(1);
  });

  it("is attached to the document's API too", async () => {
    const { post, provider, ended } = await numbered();
    const { body } = await post(JSON.stringify(FOX));
    const again = await post(JSON.stringify(FOX), RETRY);
    expect(again.body.data?.taskId).toBe(body.data?.taskId);
    await ended(body.data?.taskId ?? "");
    expect(provider.jobs).toHaveLength(1);
  });

  it("of a request that was refused gets the refusal, and nothing is sent", async () => {
    const provider = scriptedProvider(() => failing("lost", "the connection was cut"));
    const { generate } = await numbered({ provider });
    expect(await generate(FOX)).toMatchObject({ status: 422, body: { error: { code: "outcome_unknown" } } });
    expect(await generate(FOX, RETRY)).toMatchObject({ status: 422 });
    expect(provider.jobs).toHaveLength(1);
  });
});

describe("--once", () => {
  it("makes equal requests one, on both APIs, while it runs and after it is answered", async () => {
    const { generate, post, provider, ended } = await numbered({ onceMs: 10 * MINUTE_MS });
    const replies = await Promise.all([generate(FOX), generate(FOX)]);
    replies.push(await generate(FOX));
    expect(new Set(replies.map(({ body }) => JSON.stringify(body.data))).size).toBe(1);
    expect(provider.jobs).toHaveLength(1);
    const tasks = await Promise.all([1, 2].map(() => post(JSON.stringify(FOX))));
    const ids = new Set(tasks.map(({ body }) => body.data?.taskId));
    expect(ids.size).toBe(1);
    await ended([...ids][0] ?? "");
    expect(provider.jobs).toHaveLength(2);
    await generate({ ...FOX, n: 2 });
    expect(provider.jobs).toHaveLength(4);
  });

  it("ends with its time", async () => {
    const folder = await temporaryFolder();
    const first = await numbered({ folder, onceMs: 10 * MINUTE_MS });
    await first.generate(FOX);
    await first.close();
    const { provider } = first;
    const soon = await numbered({ folder, provider, onceMs: 10 * MINUTE_MS, clock: later(9 * MINUTE_MS) });
    await soon.generate(FOX);
    await soon.close();
    expect(provider.jobs).toHaveLength(1);
    const late = await numbered({ folder, provider, onceMs: 10 * MINUTE_MS, clock: later(11 * MINUTE_MS) });
    await late.generate(FOX);
    expect(provider.jobs).toHaveLength(2);
  });

  it("leaves requests with an Idempotency-Key to their keys", async () => {
    const { generate, provider } = await numbered({ onceMs: 10 * MINUTE_MS });
    for (const key of ["one", "two", "one"]) await generate(FOX, { "idempotency-key": key });
    expect(provider.jobs).toHaveLength(2);
  });
});

describe("a client that is gone", () => {
  /** A client that waits in the queue behind another one, and hangs up. */
  async function queued(fields: object = {}, headers: Record<string, string> = {}) {
    const held = heldProvider();
    const server = await withOpenAi({ provider: held.provider, ...PAID, clock: quickClock });
    const first = server.openai.images.generate({ prompt: "first" });
    await held.provider.sent(1);
    const gone = new AbortController();
    const call = server.openai.images.generate({ ...FOX, ...fields }, { signal: gone.signal, headers });
    const left = expect(call).rejects.toThrow();
    const waiting = async () => (await server.ledger.unfinished()).length;
    await expect.poll(waiting).toBe(2);
    gone.abort();
    await left;
    return { ...server, ...held, first, waiting };
  }

  it("pays for nothing that was not sent: its request is dropped after ten seconds", async () => {
    const { answer, first, waiting, provider, events } = await queued();
    await expect.poll(waiting, { timeout: 5_000 }).toBe(1);
    await answer(1);
    await first;
    await expect.poll(waiting).toBe(0);
    expect(provider.jobs).toHaveLength(1);
    expect(events).toMatchObject([{ kind: "ended" }, { kind: "ended" }]);
  });

  it("has nothing sent in its turn, before the ten seconds are over", async () => {
    const { answer, first, waiting, provider } = await queued();
    await answer(1);
    await first;
    await expect.poll(waiting, { timeout: 5_000 }).toBe(0);
    expect(provider.jobs).toHaveLength(1);
  });

  it("and retries within ten seconds has its request sent once", async () => {
    const { answer, first, openai, provider } = await queued();
    const again = openai.images.generate(FOX, { headers: RETRY });
    await answer(1);
    await first;
    await answer(2);
    expect((await again).data).toHaveLength(1);
    expect(provider.jobs).toHaveLength(2);
  });

  it("and retries later begins a new request", async () => {
    const { answer, first, openai, provider, waiting } = await queued();
    await expect.poll(waiting, { timeout: 5_000 }).toBe(1);
    const again = openai.images.generate(FOX, { headers: RETRY });
    for (const number of [1, 2]) await answer(number);
    await first;
    expect((await again).data).toHaveLength(1);
    expect(provider.jobs).toHaveLength(2);
  });

  it("stays in the queue with an Idempotency-Key, as a key promises", async () => {
    const { answer, first, waiting, provider } = await queued({}, { "Idempotency-Key": "k" });
    await quickClock.sleep(12_000);
    for (const number of [1, 2]) await answer(number);
    await first;
    await expect.poll(waiting).toBe(0);
    expect(provider.jobs).toHaveLength(2);
  });

  it("has those of its images finished that were sent, and the others dropped", async () => {
    const { provider, answer } = heldProvider();
    const server = await withOpenAi({ provider, ...PAID, clock: quickClock });
    const gone = new AbortController();
    const call = server.openai.images.generate({ ...FOX, n: 3 }, { signal: gone.signal });
    const left = expect(call).rejects.toThrow();
    await answer(1);
    await provider.sent(2);
    gone.abort();
    await left;
    await answer(2);
    await expect.poll(() => server.ledger.unfinished(), { timeout: 5_000 }).toEqual([]);
    expect(provider.jobs).toHaveLength(2);
    const { data } = await server.openai.images.generate({ ...FOX, n: 3 }, { headers: RETRY });
    expect(data).toHaveLength(2);
    expect(provider.jobs).toHaveLength(2);
  });

  it("with its server has nothing sent by the next one, unless it retries there", async () => {
    const folder = await temporaryFolder();
    const busy = scriptedProvider((_job, how) => endless(how));
    const first = await withOpenAi({ folder, provider: busy, ...PAID });
    const ask = (fields: { prompt: string }) =>
      first.openai.images.generate(fields, { maxRetries: 0 }).catch(() => null);
    const calls = [ask({ prompt: "first" })];
    await busy.sent(1);
    calls.push(ask(FOX), ask({ prompt: "a hare" }));
    await expect.poll(async () => (await first.ledger.unfinished()).length).toBe(3);
    await first.close();
    await Promise.all(calls);
    const provider = scriptedProvider();
    const second = await withOpenAi({ folder, provider, ...PAID, clock: quickClock });
    const again = second.openai.images.generate(FOX, { headers: RETRY });
    expect((await again).data).toHaveLength(1);
    const waiting = async () =>
      (await second.ledger.unfinished()).filter(
        (entry) => entry.kind === "task" && entry.task.state === "waiting",
      );
    await expect.poll(waiting, { timeout: 5_000 }).toEqual([]);
    expect(provider.jobs.map(({ request }) => request.prompt)).toEqual(["a fox"]);
  });
});
