import { describe, expect, it } from "vitest";
import { fold, newRun } from "../../../src/cli/output/run-progress.ts";
import { taskNotes } from "../../../src/cli/output/task-view.ts";
import { Console } from "../../../src/cli/text/console.ts";
import type { RunEvent } from "../../../src/core/use-cases/run-events.ts";

/** The notes on a task, and the lines that are written. */
function notes(isLive: boolean) {
  const written: string[] = [];
  const stream = {
    write: (text: string | Uint8Array, done: () => void) => {
      written.push(String(text).trimEnd());
      done();
      return true;
    },
  };
  const streams = { stdout: stream, stderr: stream, env: {}, signal: new AbortController().signal };
  const notes = taskNotes(new Console(streams, { quiet: false, color: false }), isLive);
  const run = newRun();
  const show = (event: RunEvent) => {
    notes.show(event, run);
    fold(run, event, 0);
  };
  return { written, show, tick: (ms: number) => notes.tick?.(run, ms) };
}

const ACCEPTED = { type: "accepted", taskId: "t1", request: 0 } as const;
const SLOW = "The task is slow. To stop waiting, press Ctrl-C. To resume later: imggen resume t1";

describe("the notes on a task", () => {
  it("name its id on a terminal once: where it takes a minute, and twice its usual time", () => {
    const { written, show, tick } = notes(true);
    show(ACCEPTED);
    show({ type: "waiting", taskId: "t1", usualMs: 45_000 });
    tick(89_000);
    expect(written).toEqual([]);
    tick(90_000);
    tick(91_000);
    show({ type: "poll_failed", taskId: "t1", why: "reset" });
    expect(written).toEqual([SLOW]);
  });

  it("name it at the first poll that fails, and not again", () => {
    const { written, show, tick } = notes(true);
    show(ACCEPTED);
    for (const _ of [1, 2]) show({ type: "poll_failed", taskId: "t1", why: "reset" });
    tick(120_000);
    expect(written).toEqual(["Task t1: reset. Still waiting."]);
  });

  it("say off a terminal that it is accepted, and for whom it waits, each time that this changes", () => {
    const { written, show } = notes(false);
    const waits = (holder: string | null, ahead = 1) =>
      show({
        type: "progress",
        request: 0,
        taskId: "t1",
        share: null,
        waiting: holder === null ? null : { holder, ahead },
      });
    waits("task-8", 2);
    waits("task-8");
    waits("task-9");
    waits(null);
    show(ACCEPTED);
    expect(written).toEqual([
      "Task t1: waiting for task-8, 2 requests before it.",
      "Task t1: waiting for task-9.",
      "Task t1 accepted.",
    ]);
  });
});
