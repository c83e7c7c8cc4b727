import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, it } from "vitest";
import { QueuedTasks, TakenOverError } from "../../../src/sandbox/queue/task-folder.ts";
import type { Step } from "../../../src/sandbox/queue/task-state.ts";
import { newTaskId } from "../../../src/sandbox/task-id.ts";
import { identity } from "../../support/some-processes.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const AT = "2026-01-31T12:00:00.000Z";
const STARTED: Step = { type: "started", at: AT, by: identity(1), until: AT };
const REFUSED: Step = { type: "failed", at: AT, failure: { outcome: "refused", detail: "no" } };

async function added(imageCount = 1) {
  const folder = await temporaryFolder();
  const tasks = await QueuedTasks.at(folder);
  const taskId = newTaskId();
  const size = { width: 8, height: 8, ratio: undefined, quality: undefined };
  const task = { taskId, submittedAt: 1, model: null, prompt: "a fox", ...size, imageCount, isPaid: true };
  return { folder, tasks, taskId, own: await tasks.add({ ...task, references: [], fields: {} }) };
}

it("of two processes that both have a task, one writes the next step, and the other one learns that it is not its own", async () => {
  const { tasks, taskId, own } = await added();
  const other = await tasks.find(taskId);
  await own.record(STARTED);
  await expect(other?.record(STARTED)).rejects.toThrow(TakenOverError);
  expect((await tasks.find(taskId))?.state).toMatchObject({ name: "started", steps: 1 });
});

it("nobody begins a task again that another process has finished", async () => {
  const { tasks, taskId, own } = await added();
  const other = await tasks.find(taskId);
  await own.record(STARTED);
  await own.record(REFUSED);
  await tasks.finish(own);
  await expect(other?.record(STARTED)).rejects.toThrow(TakenOverError);
  expect(tasks.openIds()).toEqual([]);
  expect((await tasks.find(taskId))?.state).toMatchObject({ name: "failed", failure: { detail: "no" } });
});

it("a task whose last step was written just before its process ended is found where finished ones are", async () => {
  const { tasks, taskId, own } = await added();
  await own.record(STARTED);
  await own.record(REFUSED);
  expect(tasks.openIds()).toEqual([taskId]);
  expect((await tasks.find(taskId))?.state.name).toBe("failed");
  expect(tasks.openIds()).toEqual([]);
});

it("what a killed process has left of a step does no harm", async () => {
  const { folder, tasks, taskId, own } = await added();
  const below = path.join(folder, "open", taskId);
  await writeFile(path.join(below, ".step-1.json.0123abcd"), '{"type":"star');
  expect((await tasks.find(taskId))?.state).toMatchObject({ name: "queued", steps: 0 });
  await own.record(STARTED);
  expect(await readdir(below)).toContain("step-1.json");
});

it("a task without its first step, and a step that cannot follow, are damage and no task to run", async () => {
  const { folder, tasks, taskId, own } = await added();
  await own.record(STARTED);
  const below = path.join(folder, "open", taskId);
  await writeFile(path.join(below, "step-3.json"), JSON.stringify(STARTED));
  await expect(tasks.find(taskId)).rejects.toThrow(/a step of .* is missing/);
  await writeFile(path.join(below, "step-2.json"), JSON.stringify(STARTED));
  await expect(tasks.find(taskId)).rejects.toThrow('a step "started" cannot follow where a task is started');
});

it.each(["", "task_x", "../tasks", "task_0123456789abcdef0123/../..", "task_0123456789abcdef0123"])(
  "there is no task %j",
  async (taskId) => {
    const { tasks } = await added();
    expect(await tasks.find(taskId)).toBe(null);
  },
);
