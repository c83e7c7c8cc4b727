import { mkdir, open, readdir, readFile, rename, rmdir, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { SANDBOX_KEY, type SandboxNotice } from "../../../src/sandbox/server.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { drain, liveSandbox } from "../live.ts";

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => path.join(entry.parentPath, entry.name));
}

it("tasks and balances outlive a run", async () => {
  const before = await liveSandbox({ credits: 10 });
  const taskId = await before.accepted({ prompt: "a fox", model: "gamma-image-2", quality: "4K" });
  await before.close();
  const after = await liveSandbox({ folder: before.folder });
  const { body } = await after.poll(taskId);
  expect(body.data?.status).toBe("completed");
  expect((await fetch(String(body.data?.resultUrl), { method: "HEAD" })).status).toBe(200);
  expect(await drain(after)).toBe(2);
});

it("credits set the two named accounts, while others keep what they have", async () => {
  const before = await liveSandbox({ credits: 10 });
  await before.as("sk-other").accepted({ prompt: "a fox" });
  await before.as("sk-sandbox-basic").accepted({ prompt: "a fox" });
  await before.accepted({ prompt: "a fox" });
  const after = await liveSandbox({ folder: before.folder, credits: 20 });
  expect(await drain(after)).toBe(20);
  expect(await drain(after.as("sk-sandbox-basic"))).toBe(20);
  expect(await drain(after.as("sk-other"))).toBe(9);
  expect(await drain(after.as("sk-new"))).toBe(20);
});

it("two sandboxes on one folder know each other's tasks, images and charges", async () => {
  const one = await liveSandbox({ credits: 10 });
  const two = await liveSandbox({ folder: one.folder });
  const taskId = await one.accepted({ prompt: "a fox", model: "gamma-image-2", quality: "4K" });
  const url = new URL(String((await two.poll(taskId)).body.data?.resultUrl));
  expect(url.port).toBe(String(two.port));
  url.port = String(one.port);
  expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
  expect(await drain(two)).toBe(2);
  expect(await drain(one)).toBe(0);
});

it("a sandbox sells no more than the balance, and keeps no unpaid task", async () => {
  const { submit, folder } = await liveSandbox({ credits: 21 });
  const request = { prompt: "a fox", model: "gamma-image-2", quality: "1K" };
  const replies = await Promise.all(Array.from({ length: 50 }, () => submit(request)));
  const bought = replies.flatMap(({ body }) => body.data?.taskId ?? []);
  expect(bought).toHaveLength(10);
  const kept = await readdir(path.join(folder, "tasks"));
  expect(kept.sort()).toEqual(bought.map((taskId) => `${taskId}.json`).sort());
});

it("balances start again, and it is said once, if their file cannot be read", async () => {
  const notices: SandboxNotice[] = [];
  const sandbox = await liveSandbox({ credits: 10, onNotice: (notice) => notices.push(notice) });
  await sandbox.accepted({ prompt: "a fox" });
  const file = path.join(sandbox.folder, "accounts.json");
  for (const damaged of ['{"0123', "[]", '{"0123":"9"}', ""]) {
    await writeFile(file, damaged);
    expect(await drain(sandbox), damaged).toBe(10);
    expect(notices.splice(0), damaged).toEqual([{ kind: "reset", credits: 10 }]);
  }
});

it("the balances are written whole, so that no reader ever sees a part of them", async () => {
  const sandbox = await liveSandbox({ credits: 10 });
  const reader = await open(path.join(sandbox.folder, "accounts.json"));
  onTestFinished(() => reader.close());
  const before = await reader.readFile("utf8");
  await sandbox.accepted({ prompt: "a fox" });
  const { buffer } = await reader.read(Buffer.alloc(before.length), 0, before.length, 0);
  expect(buffer.toString()).toBe(before);
  expect(await readdir(sandbox.folder)).toEqual(["accounts.json", "secret", "tasks"]);
});

it("sandboxes that start at the same moment agree on the folder's secret", async () => {
  const folder = await temporaryFolder();
  const all = await Promise.all(Array.from({ length: 8 }, () => liveSandbox({ folder })));
  const [first, ...others] = all;
  const url = new URL((await first?.made({ prompt: "a fox" }))?.[0] ?? "");
  for (const { port } of others) {
    url.port = String(port);
    expect((await fetch(url, { method: "HEAD" })).status).toBe(200);
  }
});

it("the folder is made with its parents, and all of it is its owner's alone", async () => {
  const folder = path.join(await temporaryFolder(), "deep", "sandbox");
  const { accepted, submit, poll } = await liveSandbox({ folder, credits: 50 });
  await poll(await accepted({ prompt: "a fox [sandbox:expired]" }));
  await submit({ prompt: "a fox [sandbox:429]" });
  const files = await filesBelow(folder);
  expect(files).toHaveLength(3);
  for (const file of files) expect((await stat(file)).mode & 0o777, file).toBe(0o600);
  for (const name of ["", "tasks"]) {
    expect((await stat(path.join(folder, name))).mode & 0o777, name).toBe(0o700);
  }
});

it("no key is ever written", async () => {
  const { folder, as, accepted } = await liveSandbox({ credits: 50 });
  await accepted({ prompt: "a fox [sandbox:slow=1s]" });
  await as("sk-very-private").submit({ prompt: "a fox [sandbox:429]" });
  for (const file of await filesBelow(folder)) {
    const text = file + (await readFile(file, "utf8"));
    expect(text).not.toContain(`${SANDBOX_KEY}"`);
    expect(text).not.toContain("private");
  }
});

it("a task's file is found by its id, and holds the prompt without its directives", async () => {
  const { folder, accepted } = await liveSandbox();
  const taskId = await accepted({ prompt: "a fox [sandbox:html]", model: "z-image", ratio: "4:3" });
  expect(await readdir(path.join(folder, "tasks"))).toEqual([`${taskId}.json`]);
  const task = JSON.parse(await readFile(path.join(folder, "tasks", `${taskId}.json`), "utf8"));
  expect(task).toMatchObject({ taskId, prompt: "a fox", model: "z-image", ratio: "4:3" });
});

it("a disk that fails is HTTP 500 with nothing of the machine in it, and the sandbox goes on", async () => {
  const notes: (string | null)[] = [];
  const { folder, submit } = await liveSandbox({ onRequest: ({ note }) => notes.push(note) });
  const file = path.join(folder, "accounts.json");
  await submit({ prompt: "a fox" });
  await rename(file, `${file}.away`);
  await mkdir(file);
  const broken = await submit({ prompt: "a fox" });
  expect(broken.status).toBe(500);
  expect(broken.body).toEqual({ code: -1, message: "image_generation.error.unknown_error" });
  expect(notes.at(-1)).toContain("EISDIR");
  await rmdir(file);
  expect((await submit({ prompt: "a fox" })).body.code).toBe(0);
});

it("a task that the disk does not take is not charged", async () => {
  const sandbox = await liveSandbox({ credits: 5 });
  const tasks = path.join(sandbox.folder, "tasks");
  await rename(tasks, `${tasks}.away`);
  expect((await sandbox.submit({ prompt: "a fox" })).status).toBe(500);
  await rename(`${tasks}.away`, tasks);
  expect(await drain(sandbox)).toBe(5);
});
