import { planFacts } from "../../../client/batch-json.ts";
import { checkBatchOfSeeds, seedRanges, seedsJson, seedsPlanJson } from "../../../client/batch-of-seeds.ts";
import { type CheckedBatch, planBatch } from "../../../client/batch-operations.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import type { GENERATE } from "../../../client/options/request-table.ts";
import type { BatchPlan } from "../../../core/batch/plan.ts";
import type { RowResult } from "../../../core/batch/row-result.ts";
import type { WholeNumber } from "../../../lib/exact-integer.ts";
import { COMMAND_VOCABULARY } from "../../../lib/wording.ts";
import { openImages, parseDisplayOptions, previewImages } from "../../output/viewing.ts";
import type { Session } from "../../session/session.ts";
import { sentLines } from "../run-request.ts";
import { runShown, showPaths } from "./run-shown.ts";
import { batchExitCode, estimateText, planText, showSummary } from "./summary.ts";

type Flags = Omit<FlagsOf<typeof GENERATE>, "seed"> & { readsInput: boolean };

export async function runSeeds(
  prompt: string,
  seeds: readonly WholeNumber[],
  flags: Flags,
  session: Session,
): Promise<number> {
  const { console, options } = session;
  const display = parseDisplayOptions(flags, session);
  const batch = await checkBatchOfSeeds(prompt, seeds, flags, session);
  for (const warning of batch.warnings) await console.warn(warning);
  if (flags.dryRun) return showPlan(batch, session);
  const results: RowResult[] = [];
  let plan: BatchPlan | null = null;
  const result = await runShown(batch, flags, session, {
    onPlan: (planned) => {
      plan = planned;
    },
    async onEnd(rowResult) {
      results.push(rowResult);
      if (!options.json) await showPaths(rowResult, session);
    },
  });
  const files = results
    .toSorted((a, b) => a.row.row - b.row.row)
    .flatMap(({ report }) => report?.files ?? []);
  await previewImages(files, display, session);
  if (!options.json) await showSummary({ ...result, readsInput: flags.readsInput }, session);
  else if (plan) await console.json(seedsJson(plan, results, result, COMMAND_VOCABULARY));
  await openImages(files, display, session);
  return batchExitCode(result);
}

async function showPlan(batch: CheckedBatch, session: Session): Promise<number> {
  const { console, options } = session;
  const { plan, described } = await planBatch(batch, session);
  const document = seedsPlanJson(plan, described, batch.warnings);
  if (options.json) {
    await console.json(document);
    return 0;
  }
  const { sent: wireRequest, seeds } = document;
  const facts = planFacts(plan, batch.spec.matrix);
  await console.result([
    ...(wireRequest && seeds.length > 0 ? sentLines(wireRequest) : []),
    ...(seeds.length > 0 ? [`seeds: ${seedRanges(seeds)}`] : []),
    `${planText(facts, "request")}, nothing was sent`,
  ]);
  const estimate = estimateText(facts);
  if (estimate !== "") await console.note(estimate);
  return 0;
}
