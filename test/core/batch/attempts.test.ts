import { expect, it } from "vitest";
import { rowStateOf } from "../../../src/core/batch/attempts.ts";
import type { LedgerEntry } from "../../../src/store/ledger-files.ts";
import { readTaskLines } from "../../../src/store/task-lines.ts";
import type { TaskEvent } from "../../../src/task/task.ts";
import { EVENTS, linesOf } from "../../support/records.ts";

const { intent, rate_limited, accepted, completed, saved, failed, refused, not_sent, unknown, dismissed } =
  EVENTS;

const entry = (...events: TaskEvent[]): LedgerEntry => ({
  file: "task.jsonl",
  ...readTaskLines("20260131T120000000-00000001", linesOf(intent, ...events)),
});

it.each([
  ["never sent", [not_sent], "new"],
  ["refused", [refused], "new"],
  ["turned away with 429, and is to be submitted again", [rate_limited], "waiting"],
  ["begun, and nothing more is known", [], "unknown"],
  ["sent, and its reply was lost", [unknown], "unknown"],
  ["dismissed", [unknown, dismissed], "unknown"],
  ["accepted", [accepted], "unfinished"],
  ["completed and not saved", [accepted, completed], "unfinished"],
  ["saved", [accepted, completed, saved], "saved"],
  ["submitted and failed", [accepted, failed], "failed"],
] as const)("a row whose task was %s stands as %j → %s", (_name, events, state) => {
  expect(rowStateOf(entry(...events))).toBe(state);
});

it("a row without a task is new", () => {
  expect(rowStateOf(null)).toBe("new");
});

it.each([
  ["damaged", { file: "f", kind: "damaged", why: "its first line is not JSON" }],
  ["of a newer release", { file: "f", kind: "newer", version: 9 }],
  ["no task's at all", { file: "f", kind: "foreign" }],
  ["never wholly written down", { file: "f", kind: "stub" }],
] as const)("a row whose task's file is %s is unknown: it may have been charged", (_name, file) => {
  expect(rowStateOf(file)).toBe("unknown");
});
