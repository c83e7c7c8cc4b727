import { expect, it } from "vitest";
import { SeveralTasks } from "../../../../src/cli/commands/status/status-progress.ts";

const IDS = ["task_3f9c1a2b77", "task_81ab77ff01", "task_c0ffee0001"];

it("names as many of several tasks as fit, and counts the rest", () => {
  const view = new SeveralTasks(IDS);
  expect(view.lines(80)).toEqual(["0 of 3 tasks finished", "running: 9c1a2b77, ab77ff01, ffee0001"]);
  expect(view.lines(30)[1]).toBe("running: 9c1a2b77, 2 more");
  expect(view.lines(20)[1]).toBe("running: 3");
});

it("draws thousands of tasks in little time, each time that one of them finishes", () => {
  const view = new SeveralTasks(Array.from({ length: 3_000 }, (_, at) => `task_${at}_of_many`));
  const begun = performance.now();
  for (let at = 0; at < 20; at += 1) {
    view.finished(at);
    view.lines(100);
  }
  // It takes a few milliseconds.
  expect(performance.now() - begun).toBeLessThan(2_000);
});

it("names what has finished until its line is printed, which is in the order of the ids", () => {
  const view = new SeveralTasks(IDS);
  view.finished(1);
  expect(view.lines(80)).toEqual([
    "1 of 3 tasks finished",
    "finished: ab77ff01",
    "running: 9c1a2b77, ffee0001",
  ]);
  for (const at of [0, 2]) view.finished(at);
  for (const at of [0, 1, 2]) view.printing(at);
  expect(view.lines(80)).toEqual(["3 of 3 tasks finished"]);
});
