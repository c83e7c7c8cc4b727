import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { png } from "../support/images.ts";
import { quickClock } from "../support/quick-clock.ts";
import { someProcesses } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { drawn, endless, scriptedProvider } from "./provider-script.ts";
import { liveServer } from "./serve-world.ts";

const FOX = { prompt: "a fox" };
const RETRY = { "x-stainless-retry-count": "1" };

type Live = Parameters<typeof liveServer>[0];

/** A server, and what asks it for an image on OpenAI's API: the answer's first image, or null for an error. */
async function serverWith(live: Live) {
  const server = await liveServer({ ...live, options: { isPaid: true, concurrency: 4 } });
  const generate = async (fields: object, headers: Record<string, string> = {}, signal?: AbortSignal) => {
    const authorization = `Bearer ${server.apiKey}`;
    const url = `http://127.0.0.1:${server.port}/v1/images/generations`;
    const reply = await fetch(url, {
      method: "POST",
      body: JSON.stringify(fields),
      headers: { authorization, "content-type": "application/json", ...headers },
      ...(signal && { signal }),
    });
    const { data = [] } = JSON.parse(await reply.text());
    return data[0]?.b64_json ?? null;
  };
  return { ...server, generate };
}

/** A provider that holds each request until the test answers it, with an image of the request's number. */
function numberedProvider() {
  const open = new Map<number, () => void>();
  const provider = scriptedProvider(async (job, { onSent }, number) => {
    onSent();
    await new Promise<void>((resolve) => open.set(number, resolve));
    return drawn({ ...job, index: number });
  });
  return { provider, answer: (number: number) => open.get(number)?.() };
}

/** The image of a request. */
const image = (number: number) => png(number).toString("base64");

/** How many clients have hung up, as the records of their calls say. */
async function countLeft(folder: string): Promise<number> {
  const calls = path.join(folder, "calls");
  const texts = await Promise.all(
    (await readdir(calls)).map((name) => readFile(path.join(calls, name), "utf8")),
  );
  return texts.join("").split('"left"').length - 1;
}

/** Asks for an image, and hangs up once it is sent. */
async function hangUp(
  { generate, folder }: Awaited<ReturnType<typeof serverWith>>,
  sent: () => Promise<unknown>,
): Promise<void> {
  const before = await countLeft(folder);
  const gone = new AbortController();
  const lost = expect(generate(FOX, {}, gone.signal)).rejects.toThrow();
  await sent();
  gone.abort();
  await lost;
  await expect.poll(() => countLeft(folder)).toBe(before + 1);
}

describe("of several equal requests a retry gets", () => {
  it("the oldest that was not delivered, one after the other, and then the oldest", async () => {
    const { provider, answer } = numberedProvider();
    const server = await serverWith({ provider });
    for (const number of [1, 2, 3]) {
      await hangUp(server, () => provider.sent(number));
      answer(number);
    }
    await expect.poll(() => server.ledger.unfinished()).toEqual([]);
    const images = [];
    for (const _each of [1, 2, 3, 4]) images.push(await server.generate(FOX, RETRY));
    expect(images).toEqual([1, 2, 3, 1].map(image));
    expect(provider.jobs).toHaveLength(3);
  });

  it("none for which a client waits in another process that lives", async () => {
    const { provider, answer } = numberedProvider();
    const folder = await temporaryFolder();
    const processes = someProcesses(1, 2);
    const first = await serverWith({ provider, folder, processes: processes.as(1) });
    const waiting = first.generate(FOX);
    await provider.sent(1);
    await hangUp(first, () => provider.sent(2));
    answer(2);
    const second = await serverWith({ provider, folder, processes: processes.as(2) });
    expect(await second.generate(FOX, RETRY)).toBe(image(2));
    answer(1);
    expect(await waiting).toBe(image(1));
    expect(provider.jobs).toHaveLength(2);
  });
});

describe("a request is another one", () => {
  it.each([
    [{ seed: 1 }, { seed: 2 }],
    [{ steps: 20 }, { steps: 30 }],
    [{ negative_prompt: "rain" }, {}],
    [{ size: "1024x1024" }, { size: "1536x1024" }],
  ])("on OpenAI's API with %j in place of %j", async (one, other) => {
    const provider = scriptedProvider();
    const { generate } = await serverWith({ provider, onceMs: 60_000 });
    await generate({ ...FOX, ...one });
    await generate({ ...FOX, ...other });
    await generate({ ...FOX, ...other }, RETRY);
    expect(provider.jobs).toHaveLength(2);
  });

  it.each([
    [{ seed: 1 }, { seed: 2 }],
    [{ fields: { steps: 20 } }, { fields: { steps: 30 } }],
    [{ negative: "rain" }, {}],
  ])("on the document's API with %j in place of %j", async (one, other) => {
    const provider = scriptedProvider();
    const { accepted } = await serverWith({ provider, onceMs: 60_000 });
    const tasks = [];
    for (const fields of [one, other, other]) tasks.push(await accepted({ ...FOX, ...fields }));
    expect(new Set(tasks).size).toBe(2);
    expect(tasks[1]).toBe(tasks[2]);
  });
});

it("a request with an Idempotency-Key whose server ended is sent by the next one, though no client asks for it", async () => {
  const folder = await temporaryFolder();
  const busy = scriptedProvider((_job, how) => endless(how));
  const first = await serverWith({ folder, provider: busy });
  const key = { "idempotency-key": "k" };
  const calls = [1, 2, 3, 4].map((number) => first.generate({ prompt: `fox ${number}` }).catch(() => null));
  await busy.sent(4);
  calls.push(first.generate(FOX, key).catch(() => null));
  await expect.poll(async () => (await first.ledger.unfinished()).length).toBe(5);
  await first.close();
  await Promise.all(calls);
  const provider = scriptedProvider();
  await serverWith({ folder, provider, clock: quickClock });
  await provider.sent(1);
  expect(provider.jobs.map(({ request }) => request.prompt)).toEqual(["a fox"]);
});
