import { BATCHES, BATCHES_TOGETHER, type BatchScenario, batch, CLEARED, STALLED } from "./batch-scenarios.ts";
import type { Mutant } from "./mutant.ts";
import { before, instead, returns, swapped, without } from "./operators.ts";
import { UNDISTURBED } from "./points.ts";

const submittedInsteadOf = (callee: string) =>
  instead("nextStepForTask", callee, "submitRow(row, next, run)");

/** Nothing but the records keeps a saved row from being submitted again. */
const UNLIMITED = batch("rows.jsonl", "--yes");
const REPEATED: BatchScenario = {
  ...BATCHES.repeated,
  steps: [UNLIMITED, UNLIMITED],
  again: UNLIMITED.argv,
};

/** Bugs in which process submits a row, and how often. */
export const BATCH_MUTANTS: Mutant<BatchScenario>[] = [
  {
    bug: "the claim of a row replaces another's",
    edits: [
      instead(
        "withTemporaryFile",
        "publish",
        `import("node:fs").then(({ renameSync }) => (renameSync(temporary, file), true))`,
      ),
    ],
    shows: { scenario: BATCHES_TOGETHER.finished, at: STALLED },
  },
  {
    bug: "a row that another process has claimed is claimed once more",
    edits: [
      instead("submitRow", "claims.claim", "$.then(() => id)"),
      instead("submitRow.isFree", "claims.read", "null"),
    ],
    shows: { scenario: BATCHES_TOGETHER.finished, at: STALLED },
  },
  {
    bug: "a row is claimed after its request was sent",
    edits: [
      instead("submitRow", "claims.claim", "id"),
      instead("submitRow.isFree", "claims.read", "null"),
      returns("ClaimedTask.#isRowEnded", "false"),
      instead(
        "submitRow",
        "beginAndDrive",
        `$.finally(() => claims.claim(row.key, attempt, { id: beginOptions.id, intent, at: isoTime(deps.clock.now()) }))`,
      ),
    ],
    shows: { scenario: BATCHES.fresh, at: /^kill at submit: replied$/ },
  },
  {
    bug: "a claim's folder is not synced",
    edits: [without("withTemporaryFile", "syncFolder"), without("recordRowBegun", "syncFolder")],
    shows: { scenario: BATCHES.fresh, at: /^power cut: names at submit: charged$/ },
  },
  {
    bug: "a claim does not say that its task's request is sent",
    edits: [without("ClaimedTask.#isRowEnded", "recordRowBegun")],
    shows: { scenario: CLEARED, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a claim does not say how its task has ended",
    edits: [without("Ledger.end", "recordRowOutcome")],
    shows: { scenario: CLEARED, at: UNDISTURBED },
  },
  {
    bug: "a batch is known by its folder's path alone",
    edits: [instead("findBatch", "record.origin", "folder")],
    shows: { scenario: BATCHES.moved, at: UNDISTURBED },
  },
  {
    bug: "a folder shows its id before the ledger knows it",
    edits: [swapped("identifyBatch", "recordId", "writeFolderId")],
    shows: { scenario: BATCHES.moved, at: /^kill-after at operation \d+, link \.imggen-batch$/ },
  },
  {
    bug: "what a row is depends on its line",
    edits: [instead("checkRows", "keys.next", "$.slice(0, -1) + line")],
    shows: { scenario: BATCHES.reordered, at: UNDISTURBED },
  },
  {
    bug: "equal rows are one",
    edits: [returns("RowKeys.next", "digest + '-1'")],
    shows: { scenario: BATCHES.fresh, at: UNDISTURBED },
  },
  {
    bug: "a row whose task cannot be read is submitted again",
    edits: [
      without("readAttempt", "assertReadable"),
      instead("nextStep", "unreadableResult", "submitRow(row, length + 1, run)"),
    ],
    shows: { scenario: REPEATED, at: /^EIO at operation \d+, read .*\.f[0-9a-f]+\.jsonl$/ },
  },
  {
    bug: "a row of unknown outcome is submitted again without being asked",
    edits: [
      before(
        "nextStepForTask",
        `if (task.state === "unknown") return submitRow(row, row.attempts.length + 1, run);`,
      ),
    ],
    shows: { scenario: BATCHES.fresh, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a request that is submitted again is not dismissed first",
    edits: [without("resubmitUnknown", "dismissClaimed")],
    shows: { scenario: BATCHES.resubmitted, at: UNDISTURBED },
  },
  {
    bug: "a saved row is submitted again",
    edits: [submittedInsteadOf("checkSavedRow")],
    shows: { scenario: BATCHES.repeated, at: UNDISTURBED },
  },
  {
    bug: "an accepted row is submitted again",
    edits: [submittedInsteadOf("withClaimedTask")],
    shows: { scenario: BATCHES.continued, at: UNDISTURBED },
  },
  {
    bug: "a row whose owner waits out a 429 counts as new",
    edits: [
      before(
        "nextStepForTask",
        `if (task.state === "waiting") return submitRow(row, row.attempts.length + 1, run);`,
      ),
      before("rowState", `if (entry?.task?.state === "waiting") return "new";`),
    ],
    shows: { scenario: BATCHES_TOGETHER.waiting, at: UNDISTURBED },
  },
];
