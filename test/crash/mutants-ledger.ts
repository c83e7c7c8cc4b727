import type { Mutant } from "./mutant.ts";
import { instead, never, swapped, without } from "./operators.ts";
import { UNDISTURBED } from "./points.ts";
import { SCENARIOS } from "./scenarios.ts";

/** Bugs in what is written down, and when. */
export const LEDGER_MUTANTS: Mutant[] = [
  {
    bug: "the task id is printed before it is on disk",
    edits: [swapped("settle", "writer.write", "onProgress")],
    shows: { scenario: SCENARIOS.plain, at: /^kill-before at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "the task is polled while its id is still being written",
    edits: [instead("settle", "writer.write", "void $")],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: bytes at operation \d+, sync .*\.jsonl$/ },
  },
  {
    bug: "records are not synced",
    edits: [without("#append", "sync")],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: bytes at (submit: replied|poll: arrived)$/ },
  },
  {
    bug: "the folder of a new intent is not synced",
    edits: [without("#owned", "syncFolder")],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: names at submit: charged$/ },
  },
  {
    bug: "a record goes on in the line that a failed write has torn",
    edits: [never("#write", "#tornTail")],
    shows: { scenario: SCENARIOS.plain, at: /^ENOSPC at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "a write that took only some of the bytes is taken for whole",
    edits: [instead("DiskFile.write", "someTaken", "$ && bytes.length")],
    shows: { scenario: SCENARIOS.plain, at: /^short at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "the reserve is not given up for the task id",
    edits: [without("record", "#makeRoom")],
    shows: { scenario: SCENARIOS.plain, at: /^ENOSPC at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "a task is put away before it is recorded as saved",
    edits: [swapped("recordSaved", "writer.write", "writer.finish")],
    shows: { scenario: SCENARIOS.plain, at: UNDISTURBED },
  },
];
