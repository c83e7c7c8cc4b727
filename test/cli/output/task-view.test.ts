import { describe, expect, it } from "vitest";
import { lineOf, newView, showInView } from "../../../src/cli/output/task-view.ts";
import type { TaskProgressEvent } from "../../../src/core/task/progress-events.ts";

const FACTS = { request: { prompt: "a fox", model: "gamma-image-2", quality: "2K" }, credits: 4 };
const ACCEPTED = { type: "accepted", taskId: "task-1" } as const;

/** The spinner's line so many milliseconds after the last of these events. */
function line(events: readonly TaskProgressEvent[], ageMs: number, columns = 100, facts = FACTS): string {
  const view = newView();
  for (const event of events) showInView(view, event, 0);
  return lineOf(view, ageMs, facts, columns);
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
    const view = newView();
    showInView(view, ACCEPTED, 1000);
    showInView(view, { type: "waiting", taskId: "task-1", usualMs: 5000 }, 2000);
    expect(view.sinceMs).toBe(1000);
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
