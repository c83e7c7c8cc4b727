import { describe, expect, it } from "vitest";
import { fold, newRun } from "../../../src/cli/output/run-progress.ts";
import { taskView } from "../../../src/cli/output/task-view.ts";
import type { ProgressFacts, TaskProgressEvent } from "../../../src/core/engine/events.ts";

const FACTS = { request: { prompt: "a fox", model: "gamma-image-2", quality: "2K" }, credits: 4 };
const ACCEPTED = { type: "accepted", taskId: "task-1", request: 0 } as const;

/** The spinner's line so many milliseconds after the last of these events. */
function line(events: readonly TaskProgressEvent[], ageMs: number, columns = 100): string | undefined {
  const run = newRun();
  for (const event of events) fold(run, event, 0);
  return taskView(FACTS).lines(run, ageMs, columns)[0];
}

const waiting = (usualMs: number | null): TaskProgressEvent[] => [
  ACCEPTED,
  { type: "waiting", taskId: "task-1", usualMs },
];

describe("the spinner of one task", () => {
  it("shows what is generated, for how long, how long it usually takes, and what it costs", () => {
    expect(line(waiting(15_200), 12_300)).toBe(
      "Generating · gamma-image-2 2K · 12 s of about 15 s · 4 credits",
    );
    expect(line(waiting(15_200), 0)).toBe("Generating · gamma-image-2 2K · about 15 s · 4 credits");
    expect(line([{ type: "submitting" }], 0)).toBe("Submitting · gamma-image-2 2K · 4 credits");
  });

  it("does not count up to a usual time that has passed", () => {
    expect(line(waiting(1200), 2100)).toBe("Generating · gamma-image-2 2K · 2 s, usually 1 s · 4 credits");
  });

  it("says nothing of a usual time that is not known, or hardly there", () => {
    expect(line(waiting(null), 3000)).toBe("Generating · gamma-image-2 2K · 3 s · 4 credits");
    expect(line(waiting(300), 3000)).toBe("Generating · gamma-image-2 2K · 3 s · 4 credits");
  });

  it("counts from the acceptance on, not from the first poll", () => {
    const run = newRun();
    fold(run, ACCEPTED, 1000);
    fold(run, { type: "waiting", taskId: "task-1", usualMs: 5000 }, 2000);
    expect(run.task.sinceMs).toBe(1000);
  });

  it("shows nothing before anything has happened", () => {
    expect(line([], 3000)).toBeUndefined();
  });

  it("shows how far a generator is, and for whom it waits before that", () => {
    const at = (facts: ProgressFacts) =>
      line([{ type: "progress", taskId: "task-1", request: 0, ...facts }], 0);
    const waiting = { holder: "task-0", ahead: 2 };
    expect([at({ share: null, waiting }), at({ share: 0.4, waiting: null })]).toEqual([
      "Waiting for task-0, 2 requests before it · gamma-image-2 2K · 4 credits",
      "Generating, 40% · gamma-image-2 2K · 4 credits",
    ]);
  });

  it("shows which of several images is downloaded", () => {
    const downloading = { type: "downloading", taskId: "task-1", index: 2, count: 4 } as const;
    expect(line([ACCEPTED, downloading], 0)).toBe("Downloading 2 of 4 · gamma-image-2 2K · 4 credits");
  });

  it("leaves out the cost first and the model next where there is too little room", () => {
    const at = (columns: number) => line(waiting(15_000), 12_000, columns);
    expect(at(57)).toBe("Generating · gamma-image-2 2K · 12 s of about 15 s");
    expect(at(38)).toBe("Generating · 12 s of about 15 s");
    expect(at(20)).toBe("Generating");
  });
});
