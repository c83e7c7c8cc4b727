import { describe, expect, it } from "vitest";
import { GeneratorError, type GeneratorFailure, TimeLimitError } from "../../../src/providers/generator.ts";
import { type Condition, conditionAfter } from "../../../src/sandbox/queue/admission.ts";
import { BadImageError } from "../../../src/sandbox/queue/check-image.ts";
import { endOf, GivenUpError, type RequestEnd, stepAfter } from "../../../src/sandbox/queue/request-end.ts";

const failed = (failure: GeneratorFailure) => endOf(new GeneratorError("words", failure));

const ENDS = {
  "cannot be reached": failed({ kind: "unreachable" }),
  "is refused for its account": failed({ kind: "account", key: "login_required" }),
  "meets a busy generator": failed({ kind: "busy", retryAfterMs: 5_000 }),
  "is refused": failed({ kind: "refused" }),
  "is lost": failed({ kind: "lost" }),
  "ends in no image": endOf(new BadImageError("it is an HTML page")),
  "takes too long": endOf(new TimeLimitError("late")),
  "is given up": endOf(new GivenUpError()),
  "dies with its process": { kind: "killed" },
  "meets a bug": endOf(new Error("oops")),
} satisfies Record<string, RequestEnd>;

type End = keyof typeof ENDS;

/** What follows: `queued` where that is no retry, `again`, `refused` or `unknown`. */
function outcome(end: End, isPaid: boolean, retries: number): string {
  const step = stepAfter(ENDS[end], { isPaid, retries, nowMs: 0 });
  if (step.type === "requeued") return step.isRetry ? "again" : "queued";
  return step.type === "failed" ? step.failure.outcome : step.type;
}

describe("a request that", () => {
  it.each<[End, string, string, string]>([
    ["cannot be reached", "queued", "queued", "queued"],
    ["is refused for its account", "queued", "queued", "queued"],
    ["meets a busy generator", "queued", "queued", "queued"],
    ["is refused", "refused", "refused", "refused"],
    ["is lost", "unknown", "again", "refused"],
    ["ends in no image", "unknown", "refused", "refused"],
    ["takes too long", "unknown", "again", "refused"],
    ["is given up", "unknown", "queued", "queued"],
    ["dies with its process", "unknown", "again", "refused"],
    ["meets a bug", "unknown", "again", "refused"],
  ])(
    "%s leaves its image %s where it is paid, else %s, and after two retries %s",
    (end, paid, free, last) => {
      expect([outcome(end, true, 0), outcome(end, false, 0), outcome(end, false, 2)]).toEqual([
        paid,
        free,
        last,
      ]);
      expect(outcome(end, false, 1)).toBe(free);
    },
  );
});

describe("the queue", () => {
  const open = { name: "open" } as const;

  it.each<[End, Condition["name"]]>([
    ["cannot be reached", "waiting"],
    ["is refused for its account", "refused"],
    ["meets a busy generator", "waiting"],
    ["is refused", "open"],
    ["is lost", "open"],
    ["ends in no image", "open"],
    ["takes too long", "open"],
    ["meets a bug", "open"],
  ])("after a request that %s is %s, and closing while it closes", (end, name) => {
    expect(conditionAfter(ENDS[end], open, 0).name).toBe(name);
    expect(conditionAfter(ENDS[end], { name: "closing" }, 0)).toEqual({ name: "closing" });
  });

  it.each<[End, number[]]>([
    ["cannot be reached", [1, 2, 4, 8, 16, 30, 30]],
    ["is refused for its account", [30, 60, 120, 240, 300, 300]],
    ["meets a busy generator", [5, 5, 5]],
  ])("waits longer after each request that %s", (end, seconds) => {
    let condition: Condition = open;
    const waits = seconds.map(() => {
      condition = conditionAfter(ENDS[end], condition, 0);
      return "untilMs" in condition ? condition.untilMs / 1000 : 0;
    });
    expect(waits).toEqual(seconds);
  });
});
