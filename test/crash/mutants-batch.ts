import { BATCHES, BATCHES_TOGETHER, type BatchScenario, STALLED } from "./batch-scenarios.ts";
import type { Mutant } from "./mutant.ts";
import { UNDISTURBED } from "./points.ts";

const BEGIN = `  const owned = await deps.ledger.beginAs(id, intent, attempt, firstAttemptMs(deps));
  row.attempts.push(owned === "taken" ? await attempt.owner() : id);
`;
const BUY = `    const report = await submitAndFinish(owned, spec, { ...deps, connection }, overBudget);
`;

/** Bugs in which process submits a row, and how often. */
export const BATCH_MUTANTS: Mutant<BatchScenario>[] = [
  {
    bug: "the claim of a row replaces another's",
    edits: [
      {
        find: "    const result = await publishOnce(draft, file);\n",
        replace: `    await (await import("node:fs/promises")).rm(file, { force: true });
    const result = await publishOnce(draft, file);
`,
      },
    ],
    shows: { scenario: BATCHES_TOGETHER.finished, at: STALLED },
  },
  {
    bug: "a row that another process has claimed is claimed once more",
    edits: [
      {
        find: BEGIN,
        replace: `  const owned = await deps.ledger.beginAs(id, intent, attempt);
  row.attempts.push(id);
  if (owned === "taken") return beginRow(row, null, intent, { claims, deps } as BatchContext);
`,
      },
    ],
    shows: { scenario: BATCHES_TOGETHER.finished, at: STALLED },
  },
  {
    bug: "a row is claimed after its task is begun",
    edits: [
      {
        find: BEGIN,
        replace: `  const owned = await deps.ledger.beginAs(id, intent, null);
  await claims.claim(row.key, row.attempts.push(id), id);
  if (attempt === null) return "taken";
`,
      },
    ],
    shows: { scenario: BATCHES_TOGETHER.begun, at: STALLED },
  },
  {
    bug: "a row is claimed after its request was sent",
    edits: [
      {
        find: BEGIN,
        replace: `  const owned = await deps.ledger.beginAs(id, intent, null);
  row.attempts.push(id);
  if (attempt === null) return "taken";
`,
      },
      {
        find: BUY,
        replace: `${BUY}    if (begun === null) await run.claims.claim(row.key, row.attempts.length, row.attempts.at(-1) ?? "");
`,
      },
    ],
    shows: { scenario: BATCHES.fresh, at: /^kill at submit: replied$/ },
  },
  {
    bug: "a claim's folder is not synced",
    edits: [
      {
        find: `"exists") return false;
    await syncFolder(this.folder);
`,
        replace: `"exists") return false;
`,
      },
    ],
    shows: { scenario: BATCHES.fresh, at: /^power cut: names at submit: charged$/ },
  },
  {
    bug: "a batch is known by its folder's path alone",
    edits: [{ find: "known?.origin ?? (await folders.byPath(folder))", replace: "folder" }],
    shows: { scenario: BATCHES.moved, at: UNDISTURBED },
  },
  {
    bug: "a folder shows its id before the ledger knows it",
    edits: [
      {
        find: `    await folders.recordId(id, { origin: planned.origin, isShared: isShard });
    await showId(folder, id, nowMs);
`,
        replace: `    await showId(folder, id, nowMs);
    await folders.recordId(id, { origin: planned.origin, isShared: isShard });
`,
      },
    ],
    shows: { scenario: BATCHES.moved, at: /^kill-after at operation \d+, link \.imggen-batch$/ },
  },
  {
    bug: "what a row is depends on its line",
    edits: [
      {
        find: "...own, key: keys.next(digest)",
        replace: "...own, key: keys.next(digest).slice(0, -1) + line",
      },
    ],
    shows: { scenario: BATCHES.reordered, at: UNDISTURBED },
  },
  {
    bug: "equal rows are one",
    edits: [{ find: "(this.#seen.get(digest) ?? 0) + 1", replace: "this.#seen.get(digest) ?? 1" }],
    shows: { scenario: BATCHES.fresh, at: UNDISTURBED },
  },
  {
    bug: "a task that cannot be read is taken for none",
    edits: [
      {
        find: `ROW_STATES[effectiveState(entry.record.state)] : "unknown"`,
        replace: `ROW_STATES[effectiveState(entry.record.state)] : "new"`,
      },
    ],
    shows: { scenario: BATCHES.repeated, at: /^EIO at operation \d+, read .*\.c2\..*\.jsonl$/ },
  },
  {
    bug: "a row of unknown outcome is submitted again without being asked",
    edits: [
      {
        find: "  if (resubmits) return submitRow(row, null, run);\n",
        replace: '  if (record.id !== "") return submitRow(row, null, run);\n',
      },
    ],
    shows: { scenario: BATCHES.fresh, at: /^kill at submit: charged$/ },
  },
  {
    bug: "a request that is submitted again is not dismissed first",
    edits: [
      {
        find: '    if (resubmits && !(await dismissToResubmit(owned.record, run))) return "again";\n',
        replace: "",
      },
    ],
    shows: { scenario: BATCHES.resubmitted, at: UNDISTURBED },
  },
  {
    bug: "a saved row is submitted again",
    edits: [{ find: "return savedBefore(row, record, run);", replace: "return submitRow(row, null, run);" }],
    shows: { scenario: BATCHES.repeated, at: UNDISTURBED },
  },
  {
    bug: "an accepted row is submitted again",
    edits: [{ find: "return finishRow(row, record, run);", replace: "return submitRow(row, null, run);" }],
    shows: { scenario: BATCHES.continued, at: UNDISTURBED },
  },
  {
    bug: "a row whose owner waits out a 429 counts as new",
    edits: [
      {
        find: `const waits = entry?.kind === "task" && entry.record.state.name === "rate_limited";`,
        replace: `const waits = entry?.kind === "task" && run === null;`,
      },
      { find: `rate_limited: "waiting"`, replace: `rate_limited: "new"` },
    ],
    shows: { scenario: BATCHES_TOGETHER.waiting, at: UNDISTURBED },
  },
];
