import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { drain, liveSandbox } from "./live.ts";

const tasksIn = (folder: string) => readdir(path.join(folder, "tasks"));
const priced = { model: "gamma-image-2", quality: "1K" };

it("[sandbox:fail]: the task is charged, and ends failed once its time is over", async () => {
  const sandbox = await liveSandbox({ credits: 5 });
  const taskId = await sandbox.accepted({ prompt: "a fox [sandbox:fail]", ...priced });
  expect((await sandbox.poll(taskId)).body.data).toEqual({ taskId, status: "failed", errorCode: 1001 });
  expect(await drain(sandbox)).toBe(3);
});

it("[sandbox:slow=30s]: this task takes that long, and no other", async () => {
  const clock = { time: 1_700_000_000_000, now: () => clock.time };
  const { accepted, poll } = await liveSandbox({ clock });
  const status = async (taskId: string) => (await poll(taskId)).body.data?.status;
  const slow = await accepted({ prompt: "[sandbox:slow=30s] a fox" });
  const doomed = await accepted({ prompt: "[sandbox:slow=30s][sandbox:fail] a fox" });
  expect(await status(await accepted({ prompt: "a fox" }))).toBe("completed");
  clock.time += 29_999;
  expect(await Promise.all([slow, doomed].map(status))).toEqual(["processing", "processing"]);
  clock.time += 1;
  expect(await Promise.all([slow, doomed].map(status))).toEqual(["completed", "failed"]);
});

it.each([
  ["no-credits", 200, "my_credits.no_credits_description"],
  ["subscription", 403, "SUBSCRIPTION_REQUIRED"],
  ["500", 500, "image_generation.error.unknown_error"],
])(
  "[sandbox:%s]: HTTP %i, %s, whatever the model, and nothing is charged or created",
  async (word, status, message) => {
    const sandbox = await liveSandbox({ credits: 5 });
    const reply = await sandbox.submit({ prompt: `a fox [sandbox:${word}]` });
    expect(reply).toMatchObject({ status, body: { code: -1, message } });
    expect(await tasksIn(sandbox.folder)).toEqual([]);
    expect(await drain(sandbox)).toBe(5);
  },
);

it("[sandbox:drop]: the task is created and charged, but no reply comes", async () => {
  const sandbox = await liveSandbox({ credits: 5 });
  const submit = sandbox.submit({ prompt: "a fox [sandbox:drop]", ...priced });
  await expect(submit).rejects.toThrow("other side closed");
  const [file = "", ...others] = await tasksIn(sandbox.folder);
  expect(others).toEqual([]);
  expect((await sandbox.poll(path.parse(file).name)).body.data?.status).toBe("completed");
  expect(await drain(sandbox)).toBe(3);
});

it("[sandbox:429]: rejects the first submit, accepts the retry, and rejects the third again", async () => {
  const sandbox = await liveSandbox({ credits: 5 });
  const request = { prompt: "a fox [sandbox:429]", ...priced };
  for (const _ of [1, 2]) {
    const { status, headers, body } = await sandbox.submit(request);
    expect([status, headers["retry-after"], body.code]).toEqual([429, "1", -1]);
    expect((await sandbox.submit(request)).body.code).toBe(0);
  }
  expect(await drain(sandbox)).toBe(1);
});

it("[sandbox:429]: rejects each prompt and each account separately", async () => {
  const { as, submit } = await liveSandbox();
  const fox = { prompt: "a fox [sandbox:429]" };
  const cat = { prompt: "a cat [sandbox:429]" };
  const replies = [await submit(fox), await submit(cat), await as("sk-other").submit(fox), await submit(fox)];
  expect(replies.map(({ status }) => status)).toEqual([429, 429, 429, 200]);
});

it("[sandbox:429]: rejects a retry after more than a minute again", async () => {
  const clock = { time: 1_700_000_000_000, now: () => clock.time };
  const { submit } = await liveSandbox({ clock });
  const status = async () => (await submit({ prompt: "a fox [sandbox:429]" })).status;
  expect(await status()).toBe(429);
  clock.time += 60_001;
  expect(await status()).toBe(429);
  clock.time += 60_000;
  expect(await status()).toBe(200);
});

it("[sandbox:truncate]: about half of the image comes, then the connection ends", async () => {
  const { made } = await liveSandbox();
  const [whole = ""] = await made({ prompt: "a fox" });
  const [cut = ""] = await made({ prompt: "a fox [sandbox:truncate]" });
  const { length } = await bytesUntilTheEnd(whole);
  const half = await bytesUntilTheEnd(cut);
  expect(half.ended).toBe("too early");
  // Each task has an image of its own, so two are never of the very same length.
  expect(half.length / length).toBeGreaterThan(0.3);
  expect(half.length / length).toBeLessThan(0.7);
});

async function bytesUntilTheEnd(url: string) {
  const { body } = await fetch(url);
  let length = 0;
  try {
    for await (const chunk of body ?? []) length += chunk.length;
  } catch {
    return { length, ended: "too early" };
  }
  return { length, ended: "as it should" };
}

it("[sandbox:html]: an error page comes in place of the image, as a success", async () => {
  const { made } = await liveSandbox();
  const [url = ""] = await made({ prompt: "a fox [sandbox:html]" });
  const response = await fetch(url);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toMatch(/^text\/html/);
  expect(await response.text()).toMatch(/^<!doctype html>/);
});

it("[sandbox:expired]: the first address is gone, that of any later poll works", async () => {
  const { accepted, poll } = await liveSandbox();
  const taskId = await accepted({ prompt: "a fox [sandbox:expired]" });
  const look = async () => String((await poll(taskId)).body.data?.resultUrl);
  const [first, second, third] = [await look(), await look(), await look()];
  const statuses = await Promise.all(
    [first, second, third, first].map(async (url) => (await fetch(url)).status),
  );
  expect(statuses).toEqual([403, 200, 200, 403]);
});

it("[sandbox:expired]: it is one poll's address alone, of several at the same time", async () => {
  const { accepted, poll } = await liveSandbox();
  const taskId = await accepted({ prompt: "a fox [sandbox:expired]" });
  const polls = await Promise.all([1, 2, 3, 4].map(() => poll(taskId)));
  const urls = polls.map(({ body }) => String(body.data?.resultUrl));
  const statuses = await Promise.all(urls.map(async (url) => (await fetch(url, { method: "HEAD" })).status));
  expect(statuses.sort()).toEqual([200, 200, 200, 403]);
});

it("several directives act one after the other", async () => {
  const sandbox = await liveSandbox({ credits: 5 });
  const request = { prompt: "[sandbox:expired] a fox [sandbox:429] in [sandbox:html] snow", ...priced };
  expect((await sandbox.submit(request)).status).toBe(429);
  const taskId = await sandbox.accepted(request);
  const look = async () => fetch(String((await sandbox.poll(taskId)).body.data?.resultUrl));
  expect((await look()).status).toBe(403);
  expect(await (await look()).text()).toContain("</html>");
});

it("a prompt of nothing but directives gets an image too", async () => {
  const { made } = await liveSandbox();
  const [url = ""] = await made({ prompt: "[sandbox:slow=0s]" });
  expect((await fetch(url)).status).toBe(200);
});

it("directives do not spare a request the rules, nor count for nothing in its length", async () => {
  const { submit } = await liveSandbox();
  expect((await submit({ prompt: "[sandbox:500]", ratio: "7:5" })).status).toBe(400);
  const prompt = `${"x".repeat(990)}[sandbox:fail]`;
  const { message } = (await submit({ prompt, model: "z-image" })).body;
  expect(message).toBe("image_generation.error.prompt_too_long");
});
