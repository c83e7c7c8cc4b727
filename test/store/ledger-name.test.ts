import { expect, it } from "vitest";
import {
  creditsByName,
  doneFolder,
  doneName,
  fileTag,
  hasTag,
  idOfName,
} from "../../src/store/ledger-name.ts";
import type { Task } from "../../src/task/task.ts";
import type { SavedFile } from "../../src/task/saved-file.ts";
import { AT, INTENT, recordOf } from "../support/records.ts";

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

function saved(files: SavedFile[], credits: number | null = 8): Task {
  const observed = { seenMs: 8000, pendingMs: null };
  const state = {
    name: "saved",
    taskId: "task-1",
    acceptedAt: AT,
    completedAt: AT,
    files,
    observed,
  } as const;
  return { ...recordOf([], undefined, { ...INTENT, credits }), id: ID, state, requests: [state] };
}

const { keyId } = INTENT.service;

it("a finished task's name begins with its id, and gives it back", () => {
  expect(idOfName(doneName(saved([])))).toBe(ID);
});

it("names that are no task's have no id", () => {
  for (const name of [`${ID}.jsonl.bak`, `${ID}.x1.jsonl`, `${ID}`, "notes.txt", `../${ID}.jsonl`])
    expect(idOfName(name)).toBeUndefined();
});

it("a name with as many images as a task can have fits a file system", () => {
  const name = doneName(saved(Array.from({ length: 40 }, (_, at) => image(at))));
  expect(Buffer.byteLength(name)).toBeLessThanOrEqual(255);
  expect(hasTag(name, fileTag(image(14).sha256))).toBe(true);
});

it("a name shows what the task has cost its account, and no other", () => {
  const name = doneName(saved([]));
  expect(creditsByName(keyId)(name)).toBe(8);
  expect(creditsByName("fedcba9876543210")(name)).toBe(0);
  expect(creditsByName(keyId)(doneName(saved([], null)))).toBe(0);
});

it("what was refused or never sent has cost nothing", () => {
  const record: Task = { ...saved([]), state: { name: "not_sent", why: "offline" } };
  expect(creditsByName(keyId)(doneName(record))).toBe(0);
});

it("a name never gives the key's fingerprint away, nor the prompt", () => {
  const name = doneName(saved([]));
  expect(name).not.toContain(keyId.slice(0, 8));
  expect(name).not.toContain("fox");
});

it("a finished task lies in the folder of its day and minute", () => {
  expect(doneFolder(ID)).toBe("2026-01-31/1205");
});
