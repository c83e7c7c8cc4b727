import type { BatchScenario } from "./batch-scenarios.ts";
import { judgeBatchRecovery } from "./judge-batch-recovery.ts";
import { judgeBatchRun, judgeSettled } from "./judge-batch-run.ts";
import type { Point } from "./points.ts";
import { inWorld, isMereDelay, type Outcome, type Program, runScenario } from "./try-point.ts";

/** Strikes a batch at one point, finishes it, and judges. */
export async function tryBatchPoint(
  scenario: BatchScenario,
  { name, strike }: Point,
  program: Program,
): Promise<Outcome> {
  return inWorld(scenario, program, async (world, recover) => {
    const runs = await runScenario(world, strike);
    const wrong = runs.flatMap((run) => judgeBatchRun(world, run));
    if (runs[0] && (strike === null || isMereDelay(strike))) wrong.push(...judgeSettled(runs[0]));
    wrong.push(...(await judgeBatchRecovery(world, scenario, runs, recover)));
    const struck = strike === null || (runs[0]?.struck ?? false);
    return { scenario: scenario.name, point: name, struck, wrong };
  });
}
