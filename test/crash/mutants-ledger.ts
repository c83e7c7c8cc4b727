import type { Mutant } from "./mutant.ts";
import { before, instead, never, swapped, without } from "./operators.ts";
import { UNDISTURBED } from "./points.ts";
import { GENERATORS, SCENARIOS } from "./scenarios.ts";

/** Bugs in what is written down, and when. */
export const LEDGER_MUTANTS: Mutant[] = [
  {
    bug: "the task id is printed before it is on disk",
    edits: [swapped("RequestSubmitter.#handleReply", "#recordReply", "#reportAccepted")],
    shows: { scenario: SCENARIOS.plain, at: /^kill-before at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "the task is polled while its id is still being written",
    edits: [instead("RequestSubmitter.#recordReply", "recordReply", "void $, Promise.resolve(true)")],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: bytes at operation \d+, sync .*\.jsonl$/ },
  },
  {
    bug: "records are not synced",
    edits: [without("#append", "sync")],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: bytes at (submit: replied|poll: arrived)$/ },
  },
  {
    bug: "the folder of a new intent is not synced",
    edits: [without("Ledger.#syncName", "syncFolder")],
    shows: { scenario: SCENARIOS.plain, at: /^power cut: names at submit: charged$/ },
  },
  {
    bug: "a record goes on in the line that a failed write has torn",
    edits: [never("#write", "#isTorn")],
    shows: { scenario: SCENARIOS.plain, at: /^ENOSPC at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "a write that took only some of the bytes is taken for whole",
    edits: [instead("DiskFile.write", "requireProgress", "$ && bytes.length")],
    shows: { scenario: SCENARIOS.plain, at: /^short at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "the reserve is not given up for the task id",
    edits: [without("record", "#makeRoom")],
    shows: { scenario: SCENARIOS.plain, at: /^ENOSPC at operation \d+, write .*\.jsonl$/ },
  },
  {
    bug: "a task is put away before it is recorded as saved",
    edits: [
      before(
        "ClaimedTask.#tryWriteLines",
        `if (this.#unwrittenLines.at(-1)?.type === "saved") {
           this.#unwrittenLines.pop();
           return true;
         }`,
      ),
    ],
    shows: { scenario: SCENARIOS.plain, at: UNDISTURBED },
  },
  {
    bug: "what a process was sent before another one took its task over does not count",
    edits: [
      before(
        "withPart",
        `const none = { state: "waiting", attempts: [], attempt: null, possibleSubmits: 0 };
         task = { ...task, requests: task.requests.map((each) => ({ ...each, ...none })) };`,
      ),
    ],
    shows: { scenario: GENERATORS.synchronous, at: /^kill at submit: headers$/ },
  },
  {
    bug: "what a request may cost is announced once it was sent",
    edits: [
      instead("submitAtOnce", "takeFromCaps", "null"),
      instead(
        "submitAtOnce",
        "driveTask",
        `$.then(async (report) => {
           await takeFromCaps(deps.caps, task, 0);
           return report;
         })`,
      ),
    ],
    shows: { scenario: SCENARIOS.plain, at: /^kill at submit: charged$/ },
  },
];
