import { expect, it } from "vitest";
import { fold, newRun } from "../../../src/cli/output/run-progress.ts";
import { taskRows } from "../../../src/cli/output/task-view.ts";
import type { RunEvent } from "../../../src/core/use-cases/run-events.ts";

const IDS = ["task_3f9c1a2b77", "task_81ab77ff01", "task_c0ffee0001"];

/** Tasks that have begun, and what is shown of them. */
function rowsOf(names: readonly string[]) {
  const run = newRun();
  const view = taskRows(names);
  const show = (event: RunEvent) => fold(run, event, 0);
  show({ type: "begun", names });
  return { show, lines: (columns: number) => view.lines(run, 0, columns) };
}

it("names as many of several tasks as fit, and counts the rest", () => {
  const view = rowsOf(IDS);
  expect(view.lines(80)).toEqual(["0 of 3 tasks finished", "running: 9c1a2b77, ab77ff01, ffee0001"]);
  expect(view.lines(30)[1]).toBe("running: 9c1a2b77, 2 more");
  expect(view.lines(20)[1]).toBe("running: 3");
});

it("draws thousands of tasks in little time, each time that one of them finishes", () => {
  const view = rowsOf(Array.from({ length: 3_000 }, (_, at) => `task_${at}_of_many`));
  const begun = performance.now();
  for (let at = 0; at < 3_000; at += 1) {
    view.show({ type: "ended", at });
    view.lines(100);
  }
  // It takes some ten milliseconds.
  expect(performance.now() - begun).toBeLessThan(20_000);
});

it("names what has finished until its line is printed, which is in the order of the ids", () => {
  const view = rowsOf(IDS);
  view.show({ type: "ended", at: 1 });
  expect(view.lines(80)).toEqual([
    "1 of 3 tasks finished",
    "finished: ab77ff01",
    "running: 9c1a2b77, ffee0001",
  ]);
  for (const at of [0, 2]) view.show({ type: "ended", at });
  for (const at of [0, 1, 2]) view.show({ type: "printed", at });
  expect(view.lines(80)).toEqual(["3 of 3 tasks finished"]);
});

it("names apart those whose images are downloaded", () => {
  const view = rowsOf(IDS);
  view.show({ type: "downloading", taskId: "task_c0ffee0001", index: 1, count: 1 });
  expect(view.lines(80)).toEqual([
    "0 of 3 tasks finished",
    "downloading: ffee0001",
    "running: 9c1a2b77, ab77ff01",
  ]);
});
