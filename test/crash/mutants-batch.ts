import { BATCHES, BATCHES_TOGETHER, type BatchScenario, STALLED } from "./batch-scenarios.ts";
import type { Mutant } from "./mutant.ts";
import { before, instead, never, returns, swapped, without } from "./operators.ts";
import { UNDISTURBED } from "./points.ts";

const UNCLAIMED = instead("beginRow", "claims.attempt", "null");

const submittedInsteadOf = (callee: string) => instead("resumeRow", callee, "submitRow(row, null, run)");

/** Bugs in which process submits a row, and how often. */
export const BATCH_MUTANTS: Mutant<BatchScenario>[] = [
  {
    bug: "the claim of a row replaces another's",
    edits: [
      instead("#give", "publishOnce", `import("node:fs").then(({ renameSync }) => renameSync(draft, file))`),
    ],
    shows: { scenario: BATCHES_TOGETHER.finished, at: STALLED },
  },
  {
    bug: "a row that another process has claimed is claimed once more",
    edits: [instead("submitRow", "beginRow", `$.then((owned) => owned === "taken" ? $ : owned)`)],
    shows: { scenario: BATCHES_TOGETHER.finished, at: STALLED },
  },
  {
    bug: "a row is claimed after its task is begun",
    edits: [UNCLAIMED, instead("beginRow", "attempts.push", "await claims.claim(row.key, $, id)")],
    shows: { scenario: BATCHES_TOGETHER.begun, at: STALLED },
  },
  {
    bug: "a row is claimed after its request was sent",
    edits: [
      UNCLAIMED,
      instead(
        "submitRow",
        "submitAndFinish",
        `$.then(async (report) => {
           if (begun === null) await run.claims.claim(row.key, row.attempts.length, row.attempts.at(-1));
           return report;
         })`,
      ),
    ],
    shows: { scenario: BATCHES.fresh, at: /^kill at submit: replied$/ },
  },
  {
    bug: "a claim's folder is not synced",
    edits: [without("#give", "syncFolder")],
    shows: { scenario: BATCHES.fresh, at: /^power cut: names at submit: charged$/ },
  },
  {
    bug: "a batch is known by its folder's path alone",
    edits: [instead("findBatch", "record.origin", "folder")],
    shows: { scenario: BATCHES.moved, at: UNDISTURBED },
  },
  {
    bug: "a folder shows its id before the ledger knows it",
    edits: [swapped("identifyBatch", "recordId", "showId")],
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
    bug: "a task that cannot be read is taken for none",
    edits: [
      without("readAttempt", "requireReadable"),
      before("rowStateOf", `if (entry !== null && entry.kind !== "task") return "new";`),
    ],
    shows: { scenario: BATCHES.repeated, at: /^EIO at operation \d+, read .*\.c2\..*\.jsonl$/ },
  },
  {
    bug: "a row of unknown outcome is submitted again without being asked",
    edits: [submittedInsteadOf("unknownRow")],
    shows: { scenario: BATCHES.fresh, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a request that is submitted again is not dismissed first",
    edits: [without("unknownRow", "dismissOwned")],
    shows: { scenario: BATCHES.resubmitted, at: UNDISTURBED },
  },
  {
    bug: "a saved row is submitted again",
    edits: [submittedInsteadOf("savedBefore")],
    shows: { scenario: BATCHES.repeated, at: UNDISTURBED },
  },
  {
    bug: "an accepted row is submitted again",
    edits: [submittedInsteadOf("finishRow")],
    shows: { scenario: BATCHES.continued, at: UNDISTURBED },
  },
  {
    bug: "a row whose owner waits out a 429 counts as new",
    edits: [
      never("nextStep", "waits"),
      before("rowStateOf", `if (entry?.record?.state.name === "rate_limited") return "new";`),
    ],
    shows: { scenario: BATCHES_TOGETHER.waiting, at: UNDISTURBED },
  },
];
