import { describe, expect, it } from "vitest";
import { exploreRow, type RowBug } from "../support/row-model.ts";
import { exploreTask, type TaskBug } from "../support/task-model.ts";

// Every interleaving of three processes, each of which may be stopped for any time or killed at any step. The states are what
// the real reducer makes of the lines. A planted bug must be found, or the model would prove nothing.

describe("the protocol of a task's parts, at a provider that accepts, answers 429, or whose reply is lost", () => {
  it("never pays twice, and loses nothing that was paid", { timeout: 120_000 }, () => {
    const { failure, states } = exploreTask(null);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(100_000);
  });

  it.each<TaskBug>([
    "no look after started",
    "no reading after taking",
    "started counts in the last part alone",
    "a late answer is not recorded",
    "a late waiting undoes attempts",
    "a late answer does not reopen",
    "no reading after the end",
    "withdrawn without a line",
  ])("does not hold with this bug: %s", { timeout: 120_000 }, (bug) => {
    expect(exploreTask(bug).failure).not.toBeNull();
  });
});

describe("the protocol of a batch row's claim", () => {
  it("never pays twice, whatever tasks the user removes", { timeout: 120_000 }, () => {
    const { failure, states } = exploreRow(null);
    expect(failure).toBeNull();
    expect(states).toBeGreaterThan(5_000);
  });

  it.each<RowBug>(["no look at the claim", "a look by the batch alone"])(
    "does not hold with this bug: %s",
    (bug) => {
      expect(exploreRow(bug).failure).not.toBeNull();
    },
  );
});
