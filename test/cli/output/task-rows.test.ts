import { expect, it } from "vitest";
import { TaskRows } from "../../../src/cli/output/task-rows.ts";

const IDS = ["task_3f9c1a2b77", "task_81ab77ff01", "task_c0ffee0001"];

it("names as many of several tasks as fit, and counts the rest", () => {
  const view = new TaskRows(IDS);
  expect(view.lines(80)).toEqual(["0 of 3 tasks finished", "running: 9c1a2b77, ab77ff01, ffee0001"]);
  expect(view.lines(30)[1]).toBe("running: 9c1a2b77, 2 more");
  expect(view.lines(20)[1]).toBe("running: 3");
});

it("draws thousands of tasks in little time, each time that one of them finishes", () => {
  const view = new TaskRows(Array.from({ length: 3_000 }, (_, at) => `task_${at}_of_many`));
  const begun = performance.now();
  for (let at = 0; at < 3_000; at += 1) {
    view.move(at, "finished");
    view.lines(100);
  }
  // It takes some ten milliseconds.
  expect(performance.now() - begun).toBeLessThan(2_000);
});

it("names what has finished until its line is printed, which is in the order of the ids", () => {
  const view = new TaskRows(IDS);
  view.move(1, "finished");
  expect(view.lines(80)).toEqual([
    "1 of 3 tasks finished",
    "finished: ab77ff01",
    "running: 9c1a2b77, ffee0001",
  ]);
  for (const at of [0, 2]) view.move(at, "finished");
  for (const at of [0, 1, 2]) view.move(at, "printed");
  expect(view.lines(80)).toEqual(["3 of 3 tasks finished"]);
});

it("names apart those whose images are downloaded", () => {
  const view = new TaskRows(IDS);
  view.move(2, "downloading");
  expect(view.lines(80)).toEqual([
    "0 of 3 tasks finished",
    "downloading: ffee0001",
    "running: 9c1a2b77, ab77ff01",
  ]);
});
