import { readlinkSync } from "node:fs";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { localDay } from "../../src/lib/local-time.ts";
import { model } from "../../src/models/matrix.ts";
import type { Ledger } from "../../src/store/ledger.ts";
import { GENERATOR_KEY_ID } from "../../src/task/intent.ts";
import { clientOf } from "../sandbox/live.ts";
import { png } from "../support/images.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { drawn, endless, scriptedProvider } from "./provider-script.ts";
import { dataOf, liveServer } from "./serve-world.ts";

const INVALID = "image_generation.error.invalid_request";

/** A clock that is so much later than the system's. */
const later = (ms: number) => ({ ...systemClock, now: () => systemClock.now() + ms });
const MONTH_MS = 30 * 24 * 3_600_000;

describe("a request", () => {
  it("needs this service's own key, which only its user can read", async () => {
    const { baseUrl, accepted, folder, apiKey } = await liveServer();
    const stranger = clientOf(baseUrl, "sk-stranger");
    const refused = { code: -1, message: "login_required" };
    expect((await stranger.submit({ prompt: "a fox" })).body).toEqual(refused);
    const taskId = await accepted({ prompt: "a fox" });
    expect((await stranger.poll(taskId)).body).toEqual(refused);
    const earlierKey = await readFile(path.join(folder, "key"), "utf8");
    expect(earlierKey.replace("sk-", "sk-serve-")).toBe(apiKey);
    expect(dataOf(await clientOf(baseUrl, earlierKey).poll(taskId)).taskId).toBe(taskId);
    expect((await stat(path.join(folder, "key"))).mode & 0o777).toBe(0o600);
  });

  it.each([
    [{}, "image_generation.error.empty_prompt"],
    [{ prompt: " " }, "image_generation.error.empty_prompt"],
    [{ prompt: 7 }, INVALID],
    [{ prompt: "a fox", maxImages: 0 }, INVALID],
    [{ prompt: "a fox", maxImages: 16 }, INVALID],
    [{ prompt: "a fox", maxImages: 1.5 }, INVALID],
    [{ prompt: "a fox", ratio: "16-9" }, INVALID],
    [{ prompt: "a fox", ratio: "7:0" }, INVALID],
    [{ prompt: "a fox", image: "javascript:alert(1)" }, INVALID],
    [{ prompt: "a fox", image: "file:///etc/passwd" }, INVALID],
    [{ prompt: "a fox", model: "known", ratio: "16:9" }, INVALID],
    [{ prompt: "a red fox", model: "known" }, "image_generation.error.prompt_too_long"],
  ])("%j is refused as %s", async (body, key) => {
    const matrix = [model("known", { ratios: ["1:1"], promptLimit: 5 })];
    const provider = scriptedProvider();
    const { submit } = await liveServer({ matrix, provider });
    expect((await submit(body)).body).toMatchObject({ code: -1, message: key });
    expect(provider.jobs).toEqual([]);
  });

  it("for a model without a row is handed on as it is, and one without a model is for the generator's", async () => {
    const provider = scriptedProvider();
    const { accepted, ended } = await liveServer({ provider, options: { model: "sdxl", sidePx: 512 } });
    const task = { prompt: "x".repeat(20_000), ratio: "7:5", quality: "8K" };
    await ended(await accepted({ ...task, model: "their/model" }));
    await ended(await accepted(task));
    expect(provider.jobs).toMatchObject([
      {
        request: { ...task, model: "their/model" },
        options: { model: "their/model", width: 504, height: 360 },
      },
      { request: { ...task, model: "sdxl" }, options: { model: "sdxl" } },
    ]);
  });

  it("hands the URLs of reference images on, sixteen at most", async () => {
    const provider = scriptedProvider();
    const { accepted, ended, submit } = await liveServer({ provider });
    const url = "https://example.com/x.png";
    await ended(await accepted({ prompt: "a fox", image: [url, "data:image/png;base64,AAAA"] }));
    expect(provider.jobs[0]?.references).toEqual([{ url }, { url: "data:image/png;base64,AAAA" }]);
    const { body } = await submit({ prompt: "a fox", image: Array.from({ length: 17 }, () => url) });
    expect(body).toEqual({
      code: -1,
      message: INVALID,
      detail: "At most 16 reference images are supported.",
    });
  });

  it("may name no file of this machine", async () => {
    const { submit, folder } = await liveServer();
    const file = path.join(folder, "a.png");
    await writeFile(file, png());
    expect((await submit({ prompt: "a fox", image: pathToFileURL(file).href })).body.message).toBe(INVALID);
  });

  it("for a model that the generator lacks is refused with those that it has; a new one is found", async () => {
    const provider = scriptedProvider();
    const names = ["sdxl", "sd3"];
    const { submit, accepted } = await liveServer({ provider, models: async () => [...names] });
    expect((await submit({ prompt: "a fox", model: "sdlx" })).body).toEqual({
      code: -1,
      message: INVALID,
      detail: 'command:paint has no model "sdlx". It has: sdxl, sd3',
    });
    names.push("flux");
    await accepted({ prompt: "a fox", model: "flux" });
    expect(provider.jobs.map(({ request: { model } }) => model)).not.toContain("sdlx");
  });

  it("is not held up by a generator that does not answer", async () => {
    const models = () => new Promise<null>(() => {});
    const { submit } = await liveServer({ models });
    const before = performance.now();
    expect((await submit({ prompt: "a fox", model: "sdxl" })).body.code).toBe(0);
    expect(performance.now() - before).toBeLessThan(1_500);
  });

  it("that the provider has no place for is refused in its words", async () => {
    const provider = {
      ...scriptedProvider(),
      check: () => "This command has no place for reference images.",
    };
    const { submit } = await liveServer({ provider });
    expect((await submit({ prompt: "a fox", image: "https://example.com/x.png" })).body).toMatchObject({
      message: INVALID,
      detail: "This command has no place for reference images.",
    });
  });

  it("that is never finished is given up, as is a connection that says nothing", async () => {
    const { port } = await liveServer();
    const socket = connect(port, "127.0.0.1");
    socket.write("POST /api/generate-image HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    const ended = new Promise((resolve) => socket.once("close", resolve));
    let reply = "";
    socket.on("data", (bytes) => {
      reply += bytes;
    });
    await ended;
    expect(reply).toMatch(/^HTTP\/1\.1 408 /);
  });
});

it.each(["Bearer", "bearer", "BEARER"])("a key is read after the word %s", async (word) => {
  const { baseUrl, apiKey, accepted, ended } = await liveServer();
  const taskId = await accepted({ prompt: "a fox" });
  await ended(taskId);
  const headers = { authorization: `${word} ${apiKey}` };
  const { body } = await request(`${baseUrl}/generate-image?taskId=${taskId}`, { headers });
  expect(JSON.parse(await body.text())).toMatchObject({ data: { status: "completed" } });
});

describe("an image", () => {
  it("behind a proxy is at the address by which the client came", async () => {
    const { baseUrl, apiKey, accepted, ended } = await liveServer();
    const taskId = await accepted({ prompt: "a fox" });
    await ended(taskId);
    const headers = {
      authorization: `Bearer ${apiKey}`,
      host: "images.example.com",
      "x-forwarded-proto": "https",
    };
    const { body } = await request(`${baseUrl}/generate-image?taskId=${taskId}`, { headers });
    const { data } = JSON.parse(await body.text());
    expect(data.resultUrl).toMatch(/^https:\/\/images\.example\.com\/files\/task_/);
  });

  it("that is cut short fails the task, and the reason is said", async () => {
    const provider = scriptedProvider(async ({ folder }) => {
      await writeFile(path.join(folder, "image.png"), png().subarray(0, 40));
      return { outcome: "made", usage: null };
    });
    const { accepted, ended } = await liveServer({ provider, options: { isPaid: true } });
    expect(await ended(await accepted({ prompt: "a fox" }))).toMatchObject({
      status: "failed",
      outcome: "unknown",
      detail: expect.stringContaining("PNG cut short"),
    });
  });

  it("is all that is kept of its reply", async () => {
    const { accepted, ended, folder } = await liveServer();
    await ended(await accepted({ prompt: "a fox" }));
    expect(await readdir(path.join(folder, "tasks", "work"))).toEqual([]);
    expect(await readdir(path.join(folder, "files"))).toHaveLength(1);
  });
});

describe("an image that a client has", () => {
  it("is the user's where resume has saved it: it is served while it is whole, and never removed", async () => {
    const folder = await temporaryFolder();
    const userFile = path.join(folder, "fox.png");
    await writeFile(userFile, png());
    const { accepted, ended, ledger, close } = await liveServer({ folder });
    const taskId = await accepted({ prompt: "a fox" });
    await ended(taskId);
    const task = await ledger.findExact(taskId);
    if (task?.state !== "saved") throw new Error("not saved");
    const [saved] = task.files;
    const line = (await readdir(path.join(folder, "tasks", "done"), { recursive: true })).find((name) =>
      name.endsWith(".jsonl"),
    );
    const taskFile = path.join(folder, "tasks", "done", line ?? "");
    const lines = (await readFile(taskFile, "utf8")).replaceAll(saved?.path ?? "", userFile);
    expect(lines).toContain(JSON.stringify({ ...saved, path: userFile }));
    await writeFile(taskFile, lines);
    await close();

    const next = await liveServer({ folder });
    const { resultUrl } = await next.ended(taskId);
    await (await request(String(resultUrl))).body.dump();
    await expect.poll(() => readdir(path.join(folder, "collected"))).toHaveLength(1);
    await next.close();
    const monthLater = await liveServer({ folder, clock: later(MONTH_MS + 60_000) });
    await expect.poll(() => readdir(path.join(folder, "collected"))).toEqual([]);
    expect((await readFile(userFile)).equals(png())).toBe(true);
    await writeFile(userFile, "changed");
    const { body, statusCode } = await request(String((await monthLater.ended(taskId)).resultUrl));
    await body.dump();
    expect(statusCode).toBe(410);
  });

  it("is removed by a service that starts a month later; one that nobody has fetched is kept", async () => {
    const folder = await temporaryFolder();
    const first = await liveServer({ folder });
    const [fetched, waiting] = [
      await first.accepted({ prompt: "a fox" }),
      await first.accepted({ prompt: "a hare" }),
    ];
    const { resultUrl } = await first.ended(fetched);
    await first.ended(waiting);
    await (await request(String(resultUrl))).body.dump();
    await expect.poll(() => readdir(path.join(folder, "collected"))).toHaveLength(1);
    await first.close();
    // A file manager's.
    await writeFile(path.join(folder, "collected", ".DS_Store"), "");
    for (const [afterMs, status] of [
      [MONTH_MS - 60_000, 200],
      [MONTH_MS + 60_000, 410],
    ] as const) {
      const next = await liveServer({ folder, clock: later(afterMs) });
      const statusOf = async (taskId: string) => {
        const { resultUrl: url } = await next.ended(taskId);
        const { statusCode, body } = await request(String(url), { method: "HEAD" });
        await body.dump();
        return statusCode;
      };
      expect([await statusOf(fetched), await statusOf(waiting)]).toEqual([status, 200]);
      await next.close();
    }
  });
});

it("what a poll says of a task is of that task alone, and an unknown one is no task", async () => {
  const { accepted, poll, ended } = await liveServer();
  const taskId = await accepted({ prompt: "a fox" });
  await ended(taskId);
  expect(dataOf(await poll(taskId)).taskId).toBe(taskId);
  const unknown = { code: -1, message: "image_generation.error.unknown_error" };
  expect((await poll("task_0123456789abcdef0123")).body).toEqual(unknown);
  expect((await poll("../../key")).body).toEqual(unknown);
});

describe("dailyCredits", () => {
  const matrix = [model("priced", { promptLimit: 100, credits: { default: 2 } })];

  const TOO_LOW = "my_credits.no_credits_description";
  const FOX = { prompt: "a fox", model: "priced" };
  const HARE = { prompt: "a hare", model: "priced" };
  const serverWith = (dailyCredits: number, provider = scriptedProvider()) =>
    liveServer({ provider, matrix, dailyCredits, options: { isPaid: true } });

  /** Spends 2 credits elsewhere. */
  const spend = (ledger: Ledger) => {
    const charge = { task: ledger.newId(), request: 0, part: 1, keyId: GENERATOR_KEY_ID, credits: 2 };
    return ledger.spending.announce(localDay(new Date()), charge, null);
  };

  it("holds for what a server is asked for, and is answered as a balance that is too low", async () => {
    const provider = scriptedProvider();
    const { submit, accepted, ended } = await serverWith(3, provider);
    await ended(await accepted(FOX));
    expect((await submit(HARE)).body).toMatchObject({
      code: -1,
      message: TOO_LOW,
      detail: "2 credits were spent today, the submit costs 2 more, and dailyCredits is 3.",
    });
    expect(provider.jobs).toHaveLength(1);
  });

  it("of which what commands have spent is a part", async () => {
    const { submit, ledger } = await serverWith(3);
    await spend(ledger);
    expect((await submit(HARE)).body.message).toBe(TOO_LOW);
  });

  it("of which tasks that wait are a part, also when many come at once", async () => {
    const { provider, draw } = waitingProvider();
    const { submit, ended } = await serverWith(5, provider);
    const replies = await Promise.all(Array.from({ length: 6 }, () => submit(FOX)));
    const begun = replies.flatMap(({ body }) => body.data?.taskId ?? []);
    expect(begun).toHaveLength(2);
    for (const count of [1, 2]) {
      await provider.sent(count);
      draw();
    }
    for (const taskId of begun) expect(await ended(taskId)).toMatchObject({ status: "completed" });
  });

  it("that another process has reached meanwhile is asked for before each submit", async () => {
    const { provider, draw } = waitingProvider();
    const { accepted, poll, ended, ledger } = await serverWith(5, provider);
    const first = await accepted(FOX);
    await provider.sent(1);
    const second = await accepted(HARE);
    await spend(ledger);
    draw();
    await ended(first);
    await expect
      .poll(async () => dataOf(await poll(second)))
      .toMatchObject({
        status: "queued",
        detail: "4 credits were spent today, the submit costs 2 more, and dailyCredits is 5.",
      });
    expect(provider.jobs).toHaveLength(1);
  });
});

/** A provider that draws each image once it is told to. */
function waitingProvider() {
  const open: (() => void)[] = [];
  const provider = scriptedProvider(async (job) => {
    await new Promise<void>((resolve) => open.push(resolve));
    return drawn(job);
  });
  return { provider, draw: () => open.shift()?.() };
}

it.runIf(process.platform === "linux")("tasks that wait keep no file open", async () => {
  const { accepted, folder } = await liveServer({ provider: scriptedProvider((_job, how) => endless(how)) });
  for (let count = 0; count < 8; count++) await accepted({ prompt: "a fox" });
  const files = (await readdir("/proc/self/fd")).flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)];
    } catch {
      return [];
    }
  });
  const open = files.filter((file) => file.startsWith(path.join(folder, "tasks", "open")));
  // One is drawn, and the two after it are ready.
  expect(open.length).toBeLessThanOrEqual(3);
});
