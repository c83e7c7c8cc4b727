import { describe, expect, it } from "vitest";
import {
  doneName,
  fileTag,
  findFileTags,
  findTaskTag,
  hasTag,
  isTemporaryName,
  minuteFolder,
  parseTaskName,
  partCount,
  partName,
  requestTag,
  taskTag,
} from "../../src/store/ledger-name.ts";
import type { SavedFile } from "../../src/task/saved-file.ts";
import type { Task } from "../../src/task/task.ts";
import { AT, INTENT, LINES, recordOf, WORK } from "../support/records.ts";

const ID = "20260131T120509001-0123abcd";

const image = (digit: number): SavedFile => ({
  path: null,
  url: "https://cdn.example/1.png",
  mediaType: "image/png",
  bytes: 1,
  sha256: digit.toString(16).padStart(8, "0").repeat(8),
  width: 1,
  height: 1,
});

function saved(files: SavedFile[]): Task {
  const lines = [LINES.accepted, LINES.completed, { type: "saved", at: AT, files } as const];
  return { ...recordOf(lines), id: ID };
}

describe("a finished task's name", () => {
  it("begins with its id, and gives it back", () => {
    expect(parseTaskName(doneName(saved([])))).toBe(ID);
  });

  it("has the tags of its id and its images", () => {
    const name = doneName(saved([image(1), image(2)]));
    expect(findTaskTag(name)).toBe(taskTag("task-1"));
    expect(findFileTags(name)).toEqual([image(1), image(2)].map(({ sha256 }) => fileTag(sha256)));
    expect(findTaskTag(doneName({ ...recordOf([LINES.refused]), id: ID }))).toBeUndefined();
  });

  it("says how many parts it has, if there are several", () => {
    expect(partCount(doneName(saved([])))).toBe(1);
    const taken = { ...saved([]), parts: 12 };
    expect([partCount(doneName(taken)), parseTaskName(doneName(taken))]).toEqual([12, ID]);
    expect(doneName(saved([]))).not.toContain(".p");
  });

  it("fits a file system with as many images as a task can have", () => {
    const name = doneName({ ...saved(Array.from({ length: 40 }, (_, at) => image(at))), parts: 1000 });
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
    expect(hasTag(name, fileTag(image(14).sha256))).toBe(true);
  });

  it("never gives the key's fingerprint away, nor the prompt", () => {
    const name = doneName(saved([]));
    expect(name).not.toContain(INTENT.service.keyId.slice(0, 8));
    expect(name).not.toContain("fox");
  });
});

it("names of earlier releases give their ids", () => {
  expect(parseTaskName(`${ID}.t0123abcd.r0123abcd.k0123abcd.c8.jsonl`)).toBe(ID);
});

it("names that are no task's have no id", () => {
  const names = [`${ID}.jsonl.bak`, `${ID}.x1.jsonl`, ID, "notes.txt", `../${ID}.jsonl`, partName(ID, 2)];
  for (const name of names) expect(parseTaskName(name)).toBeUndefined();
});

it("a draft of a task's file is no entry", () => {
  expect(isTemporaryName(`${ID}.jsonl.draft-0a1b2c3d`)).toBe(true);
  expect(isTemporaryName(`${ID}.jsonl`)).toBe(false);
});

it("a finished task is in the folder of its day and minute", () => {
  expect(minuteFolder(ID)).toBe("2026-01-31/1205");
});

it("the tag of a request differs with its options at a generator, whatever their order", () => {
  const tagWith = (options: object) =>
    requestTag({ ...INTENT, ...WORK, options: { ...WORK.options, ...options } });
  expect(tagWith({ fields: { steps: 20 } })).not.toBe(tagWith({ fields: { steps: 30 } }));
  expect(tagWith({ fields: { a: 1, b: 2 } })).toBe(tagWith({ fields: { b: 2, a: 1 } }));
});
