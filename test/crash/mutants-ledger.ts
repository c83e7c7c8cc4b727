import type { Mutant } from "./mutant.ts";
import { UNDISTURBED } from "./points.ts";
import { SCENARIOS } from "./scenarios.ts";

/** Bugs in what is written down, and when. */
export const LEDGER_MUTANTS: Mutant[] = [
  {
    bug: "the task id is printed before it is on disk",
    edits: [
      {
        find: `  await writer.write({ type: "accepted", at: isoTime(acceptedAtMs), taskId });\n`,
        replace: "",
      },
      {
        find: `  deps.onProgress({ type: "accepted", taskId });\n`,
        replace: `  deps.onProgress({ type: "accepted", taskId });
  await writer.write({ type: "accepted", at: isoTime(acceptedAtMs), taskId });
`,
      },
    ],
    shows: { scenario: SCENARIOS.plain, at: /^kill-before at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "the task is polled while its id is still being written",
    edits: [
      { find: `  await writer.write({ type: "accepted"`, replace: `  void writer.write({ type: "accepted"` },
    ],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: bytes at operation \d+, sync .*\.jsonl$/ },
  },
  {
    bug: "records are not synced",
    edits: [{ find: "this.#write(event); await this.#file.sync();", replace: "this.#write(event);" }],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: bytes at (submit: replied|poll: arrived)$/ },
  },
  {
    bug: "the folder of a new intent is not synced",
    edits: [{ find: "      await syncFolder(this.openFolder);\n", replace: "" }],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: names at submit: charged$/ },
  },
  {
    bug: "a record goes on in the line that a failed write has torn",
    edits: [{ find: `\${this.#tornTail ? "\\n" : ""}`, replace: "" }],
    shows: { scenario: SCENARIOS.plain, at: /^ENOSPC at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "a write that took only some of the bytes is taken for whole",
    edits: [{ find: "    while (done < bytes.length) done", replace: "    if (done < bytes.length) done" }],
    shows: { scenario: SCENARIOS.plain, at: /^short at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "the reserve is not given up for the task id",
    edits: [{ find: "      this.#makeRoom();\n", replace: "" }],
    shows: { scenario: SCENARIOS.plain, at: /^ENOSPC at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "a task is put away before it is recorded as saved",
    edits: [
      {
        find: `  await task.writer?.write({ type: "saved", at: isoTime(deps.clock.now()), files: report.files });
  await task.writer?.finish();
`,
        replace: `  await task.writer?.finish();
  await task.writer?.write({ type: "saved", at: isoTime(deps.clock.now()), files: report.files });
`,
      },
    ],
    shows: { scenario: SCENARIOS.plain, at: UNDISTURBED },
  },
];
