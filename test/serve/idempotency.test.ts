import { readdir, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/lib/clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { drawn, scriptedProvider } from "./provider-script.ts";
import { liveServer } from "./serve-world.ts";

const DAY_MS = 24 * 3_600_000;

/** A server, and what posts a request with a key. */
async function withKeys(live: Parameters<typeof liveServer>[0] = {}) {
  const server = await liveServer(live);
  const post = async (body: object, key = "one") => {
    const reply = await server.post(JSON.stringify(body), { "idempotency-key": key });
    return { status: reply.status, ...reply.body };
  };
  return { ...server, submitWith: post };
}

it("the same key and body is the same task, also when both come at once", async () => {
  const provider = scriptedProvider();
  const { submitWith, ended } = await withKeys({ provider });
  const replies = await Promise.all(
    Array.from({ length: 5 }, () => submitWith({ prompt: "a fox", maxImages: 1 })),
  );
  replies.push(await submitWith({ maxImages: 1, prompt: "a fox" }));
  const ids = new Set(replies.map(({ data }) => data?.taskId));
  expect(ids.size).toBe(1);
  await ended([...ids][0] ?? "");
  expect(provider.jobs).toHaveLength(1);
  const other = await submitWith({ prompt: "a fox", maxImages: 1 }, "two");
  expect(ids.has(other.data?.taskId)).toBe(false);
});

it("an empty key is none", async () => {
  const { submitWith } = await withKeys();
  const ids = [await submitWith({ prompt: "a fox" }, ""), await submitWith({ prompt: "a fox" }, "")];
  expect(new Set(ids.map(({ data }) => data?.taskId)).size).toBe(2);
});

it("the same key for another body is refused", async () => {
  const { submitWith } = await withKeys();
  await submitWith({ prompt: "a fox" });
  expect(await submitWith({ prompt: "a hare" })).toMatchObject({ status: 422, code: -1 });
});

it("a key that was refused is free again", async () => {
  const { submitWith, folder } = await withKeys({ models: async () => ["sdxl", "flux"] });
  expect((await submitWith({ prompt: "a fox", model: "nope" })).code).toBe(-1);
  expect(await readdir(path.join(folder, "calls"))).toEqual([]);
  expect((await submitWith({ prompt: "a fox", model: "sdxl" })).code).toBe(0);
});

it("a key that the disk has no room for is refused as such, and nothing is begun", async () => {
  const provider = scriptedProvider();
  const { submitWith, folder } = await withKeys({ provider });
  await rm(path.join(folder, "calls"), { recursive: true });
  await writeFile(path.join(folder, "calls"), "");
  expect(await submitWith({ prompt: "a fox" })).toEqual({
    status: 200,
    code: -1,
    message: "image_generation.error.unknown_error",
    detail: expect.stringContaining("cannot be used"),
  });
  expect(provider.jobs).toEqual([]);
});

it.each(["", "no json", '{"digest":"x"}'])(
  "a key whose file is damaged (%j) is refused, because its task may be charged already",
  async (content) => {
    const provider = scriptedProvider();
    const { submitWith, folder, ended } = await withKeys({ provider });
    await ended((await submitWith({ prompt: "a fox" })).data?.taskId ?? "");
    const [name = ""] = await readdir(path.join(folder, "calls"));
    await writeFile(path.join(folder, "calls", name), content);
    expect(await submitWith({ prompt: "a fox" })).toEqual({
      status: 422,
      code: -1,
      message: "image_generation.error.invalid_request",
      detail: expect.stringMatching(
        /cannot be read \(it is damaged\), so the task of this request is unknown\.$/,
      ),
    });
    expect(provider.jobs).toHaveLength(1);
  },
);

it("a key whose server ended before its task was begun begins that task, under the same names", async () => {
  const folder = await temporaryFolder();
  const first = await withKeys({ folder });
  const taskId = (await first.submitWith({ prompt: "a fox" })).data?.taskId ?? "";
  await first.ended(taskId);
  await first.close();
  // As if it had ended with the key on disk alone.
  for (const name of ["tasks", "files"]) await rm(path.join(folder, name), { recursive: true });
  const provider = scriptedProvider();
  const second = await withKeys({ folder, provider });
  expect((await second.submitWith({ prompt: "a fox" })).data?.taskId).toBe(taskId);
  expect(await second.ended(taskId)).toMatchObject({ status: "completed" });
  expect(provider.jobs).toHaveLength(1);
});

it("a key means nothing any longer after a week", async () => {
  const folder = await temporaryFolder();
  const first = await withKeys({ folder });
  const taskId = (await first.submitWith({ prompt: "a fox" })).data?.taskId;
  await first.close();
  const later = (ms: number) => ({ ...systemClock, now: () => systemClock.now() + ms });
  const soon = await withKeys({ folder, clock: later(7 * DAY_MS - 60_000) });
  expect((await soon.submitWith({ prompt: "a fox" })).data?.taskId).toBe(taskId);
  await soon.close();
  const late = await withKeys({ folder, clock: later(7 * DAY_MS + 60_000) });
  expect((await late.submitWith({ prompt: "a fox" })).data?.taskId).not.toBe(taskId);
});

it("the id that a client gives its request is answered with", async () => {
  const provider = scriptedProvider((job) => drawn(job));
  const { post } = await liveServer({ provider });
  const reply = await post(JSON.stringify({ prompt: "a fox" }), { "x-client-request-id": "mine-7" });
  expect(reply.headers["x-client-request-id"]).toBe("mine-7");
});
