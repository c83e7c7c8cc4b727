import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../../src/lib/clock.ts";
import { model } from "../../../src/models/matrix.ts";
import { buildPng } from "../../lib/image/builders.ts";
import { png } from "../../support/images.ts";
import { drawn, endless, scriptedGenerator } from "../../support/scripted-generator.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { clientOf } from "../live.ts";
import { dataOf, liveGenerator } from "./live-generator.ts";

const INVALID = "image_generation.error.invalid_request";

/** A clock that is so much later than the system's. */
const later = (ms: number) => ({ ...systemClock, now: () => systemClock.now() + ms });
const MONTH_MS = 30 * 24 * 3_600_000;

describe("a request", () => {
  it("needs this service's own key, which only its user can read", async () => {
    const { baseUrl, accepted, folder, apiKey } = await liveGenerator();
    const stranger = clientOf(baseUrl, "sk-stranger");
    const refused = { code: -1, message: "login_required" };
    expect((await stranger.submit({ prompt: "a fox" })).body).toEqual(refused);
    expect((await stranger.poll(await accepted({ prompt: "a fox" }))).body).toEqual(refused);
    expect(await readFile(path.join(folder, "key"), "utf8")).toBe(apiKey);
    expect((await stat(path.join(folder, "key"))).mode & 0o777).toBe(0o600);
  });

  it.each([
    [{}, "image_generation.error.empty_prompt"],
    [{ prompt: " " }, "image_generation.error.empty_prompt"],
    [{ prompt: 7 }, INVALID],
    [{ prompt: "a fox", maxImages: 0 }, INVALID],
    [{ prompt: "a fox", maxImages: 16 }, INVALID],
    [{ prompt: "a fox", maxImages: 1.5 }, INVALID],
    [{ prompt: "a fox", image: "javascript:alert(1)" }, INVALID],
    [{ prompt: "a fox", image: "file:///etc/passwd" }, INVALID],
    [{ prompt: "a fox", model: "known", ratio: "16:9" }, INVALID],
    [{ prompt: "a red fox", model: "known" }, "image_generation.error.prompt_too_long"],
  ])("%j is refused as %s", async (body, key) => {
    const matrix = [model("known", { ratios: ["1:1"], promptLimit: 5 })];
    const generator = scriptedGenerator();
    const { submit } = await liveGenerator({ matrix, generator });
    expect((await submit(body)).body).toMatchObject({ code: -1, message: key });
    expect(generator.jobs).toEqual([]);
  });

  it("for a model without a row is handed on as it is, and one without a model is for the generator's", async () => {
    const generator = scriptedGenerator();
    const { accepted, ended } = await liveGenerator({ generator, options: { model: "sdxl", sidePx: 512 } });
    const task = { prompt: "x".repeat(20_000), ratio: "7:5", quality: "8K" };
    await ended(await accepted({ ...task, model: "their/model" }));
    await ended(await accepted(task));
    expect(generator.jobs).toMatchObject([
      { model: "their/model", ...task, width: 504, height: 360 },
      { model: "sdxl", ...task },
    ]);
  });

  it("may name private copies of reference images, and no other file", async () => {
    const generator = scriptedGenerator();
    const { accepted, ended, submit, folder } = await liveGenerator({ generator });
    const copies = path.join(folder, "references");
    const [copy, text, outside] = ["a.png", "b.png", "../c.png"].map((name) => path.join(copies, name));
    await writeFile(copy ?? "", png());
    await writeFile(text ?? "", "no image");
    await writeFile(outside ?? "", png());
    const url = (file = "") => pathToFileURL(file).href;
    await ended(await accepted({ prompt: "a fox", image: [url(copy), "https://example.com/x.png"] }));
    expect(generator.jobs[0]?.references).toEqual([
      { file: copy, mediaType: "image/png" },
      { url: "https://example.com/x.png" },
    ]);
    for (const file of [text, outside, path.join(copies, "none.png")]) {
      expect((await submit({ prompt: "a fox", image: url(file) })).body.message).toBe(INVALID);
    }
  });

  it("keeps the copies that an unfinished task needs, and all others for a month", async () => {
    const folder = await temporaryFolder();
    const generator = scriptedGenerator((_job, deps) => endless(deps));
    const first = await liveGenerator({ folder, generator });
    const copies = ["a.png", "b.png"].map((name) => path.join(folder, "references", name));
    for (const copy of copies) await writeFile(copy, png());
    const [needed = "", other = ""] = copies;
    await first.accepted({ prompt: "a fox", image: pathToFileURL(needed).href });
    await first.close();
    for (const [afterMs, kept] of [
      [MONTH_MS - 60_000, [needed, other]],
      [MONTH_MS + 60_000, [needed]],
    ] as const) {
      const next = await liveGenerator({ folder, generator, clock: later(afterMs) });
      expect(copies.filter((copy) => existsSync(copy))).toEqual(kept);
      await next.close();
    }
    const last = await liveGenerator({ folder, clock: later(3 * MONTH_MS) });
    for (const taskId of await readdir(path.join(folder, "tasks", "open"))) await last.ended(taskId);
    await last.close();
    await liveGenerator({ folder, clock: later(3 * MONTH_MS) });
    expect(copies.filter((copy) => existsSync(copy))).toEqual([]);
  });

  it("keeps the copies that an unfinished task needs where the folder has another path, as in a container", async () => {
    const folder = await temporaryFolder();
    const first = await liveGenerator({
      folder,
      generator: scriptedGenerator((_job, deps) => endless(deps)),
    });
    const copy = path.join(folder, "references", "a.png");
    await writeFile(copy, png());
    await first.accepted({ prompt: "a fox", image: pathToFileURL(copy).href });
    await first.close();
    const mounted = path.join(await temporaryFolder(), "mounted");
    await symlink(folder, mounted);
    await liveGenerator({ folder: mounted, clock: later(2 * MONTH_MS) });
    expect(existsSync(copy)).toBe(true);
  });

  it("of another program may name no file at all", async () => {
    const { submit, folder } = await liveGenerator({ adoptsAll: true });
    const copy = path.join(folder, "references", "a.png");
    await writeFile(copy, png());
    const image = pathToFileURL(copy).href;
    expect((await submit({ prompt: "a fox", image })).body.message).toBe(INVALID);
  });

  it("that is never finished is given up, as is a connection that says nothing", async () => {
    const { port } = await liveGenerator();
    const socket = connect(port, "127.0.0.1");
    socket.write("POST /api/generate-image HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    const ended = new Promise((resolve) => socket.once("close", resolve));
    let reply = "";
    socket.on("data", (bytes) => {
      reply += bytes;
    });
    await ended;
    expect(reply).toMatch(/^HTTP\/1\.1 408 /);
  }, 20_000);
});

describe("an image", () => {
  it("behind a proxy is at the address by which the client came", async () => {
    const { baseUrl, apiKey, accepted, ended } = await liveGenerator();
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

  it.each([
    ["cut short", (file: string) => writeFile(file, png().subarray(0, 40)), "PNG cut short"],
    ["a folder", (file: string) => mkdir(file), "it is a folder"],
    ["a link to a device", (file: string) => symlink("/dev/null", file), "it is not a regular file"],
    [
      "a picture bomb",
      (file: string) => writeFile(file, buildPng(9000, 9000)),
      "9000x9000 is more than 64 megapixels",
    ],
  ])("that is %s fails the task, and the reason is said", async (_what, write, words) => {
    const generator = scriptedGenerator(async ({ folder }) => {
      const file = path.join(folder, "image.png");
      await write(file);
      return { file, usage: null };
    });
    const { accepted, ended } = await liveGenerator({ generator, options: { isPaid: true } });
    expect(await ended(await accepted({ prompt: "a fox" }))).toMatchObject({
      status: "failed",
      outcome: "unknown",
      detail: expect.stringContaining(words),
    });
  });

  it("is all that is kept of its reply, and nothing is kept of one that was refused", async () => {
    const generator = scriptedGenerator(async (job, _deps, number) => {
      await writeFile(path.join(job.folder, "reply.json"), "{}");
      if (number === 1) throw new Error("oops");
      return drawn(job);
    });
    const { accepted, ended, folder } = await liveGenerator({ generator });
    const taskId = await accepted({ prompt: "a fox" });
    await ended(taskId);
    const files = await readdir(path.join(folder, "tasks", "done", taskId), { recursive: true });
    expect(files.filter((name) => !/^(task|step-\d)\.json$/.test(name)).sort()).toEqual(["3", "3/image.png"]);
  });
});

describe("an image that a client has", () => {
  it("is removed by a service that starts a month later; one that nobody has fetched is kept", async () => {
    const folder = await temporaryFolder();
    const first = await liveGenerator({ folder });
    const [fetched, waiting] = [
      await first.accepted({ prompt: "a fox" }),
      await first.accepted({ prompt: "a hare" }),
    ];
    const { resultUrl } = await first.ended(fetched);
    await first.ended(waiting);
    await (await request(String(resultUrl))).body.dump();
    await expect.poll(() => readdir(path.join(folder, "collected"))).toHaveLength(1);
    await first.close();
    for (const [afterMs, status] of [
      [MONTH_MS - 60_000, 200],
      [MONTH_MS + 60_000, 410],
    ] as const) {
      const next = await liveGenerator({ folder, clock: later(afterMs) });
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
  const { accepted, poll, ended } = await liveGenerator();
  const taskId = await accepted({ prompt: "a fox" });
  await ended(taskId);
  expect(dataOf(await poll(taskId)).taskId).toBe(taskId);
  const unknown = { code: -1, message: "image_generation.error.unknown_error" };
  expect((await poll("task_0123456789abcdef0123")).body).toEqual(unknown);
  expect((await poll("../../key")).body).toEqual(unknown);
});

it("tasks and their images outlive the service", async () => {
  const folder = await temporaryFolder();
  const first = await liveGenerator({ folder });
  const taskId = await first.accepted({ prompt: "a fox" });
  await first.ended(taskId);
  await first.close();
  const { ended } = await liveGenerator({ folder, runs: false });
  const { resultUrl } = await ended(taskId);
  const { body } = await request(String(resultUrl));
  expect(Buffer.from(await body.arrayBuffer()).equals(png())).toBe(true);
});
