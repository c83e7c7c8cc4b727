import { ImggenError, UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { isUnknown, type Task } from "../../task/task.ts";
import type { GenerationRequest } from "../../task/request.ts";
import type { GeneratorFacts, TaskDeps } from "../engine/deps.ts";
import { requireFree } from "../images/destination.ts";
import { prepareDestination } from "../images/prepare-destination.ts";
import { type CostRules, checkBudget, checkDailyLimit } from "../limits/budget.ts";
import type { RequestReferences } from "../references/reference-images.ts";
import { continueEarlier } from "../task/continue.ts";
import { dismissTask } from "../engine/dismiss.ts";
import { misfitOf } from "../engine/jobs.ts";
import type { TaskReport } from "../engine/report.ts";
import { submitNew, type TaskSpec } from "../task/submit-and-finish.ts";

export interface GenerateSpec extends TaskSpec, CostRules {
  /** Reference images that are to be checked or uploaded first; absent where all are sent as they are. */
  references?: Pick<RequestReferences, "asRecorded" | "ready"> | null;
  /** The task that the user asked to submit again. */
  repeated: Task | null;
  /** Whether the request is submitted even if an earlier task for it is unfinished. */
  again: boolean;
  /** Whether an identical request that was charged already is reused, begun by another process just now perhaps. */
  reuse: boolean;
  /** The most that it may cost, in credits. */
  maxCredits: number | undefined;
}

/**
 * Reuses an earlier task for the same request, or continues one that is unfinished; without one, checks the limits,
 * uploads reference images, and generates.
 * @throws UsageError if the output path is taken, BudgetExceededError if a limit would be passed, or what
 *   `ReferenceImages.ready` and `submitNew` throw; nothing was sent
 */
export async function generate(
  spec: GenerateSpec,
  deps: TaskDeps,
  onWarning: (message: string) => Promise<void> = async () => {},
): Promise<TaskReport> {
  const { checked, destination, wait, maxCredits, references = null } = spec;
  const { reuse, again, repeated } = spec;
  const { provider, generator } = deps.connection;
  if (wait === null && generator && !provider.poll) throw noIds(generator);
  const misfit = misfitOf(checked.request, deps.connection);
  if (misfit !== null) throw misfit;
  if (reuse && again) throw new UsageError("A request cannot be reused and submitted again: choose one.");
  const warnings = [...checked.warnings];
  const say = async (warning: string) => {
    warnings.push(warning);
    await onWarning(warning);
  };
  const asSent = references === null ? checked.request : await references.asRecorded(checked.request);
  const reusing = reuse ? await import("./reuse.ts") : null;
  if (asSent !== null && !again) {
    const earlier = await (reusing?.reuseEarlier(asSent, spec, deps) ??
      continueEarlier(asSent, spec, deps, say));
    if (earlier !== null) return earlier;
  }
  if (maxCredits !== undefined) checkBudget(checked, maxCredits, spec);
  await requireFree(destination);
  const { credits } = checked;
  // What is reused costs nothing; before a new one is sent, its cost is checked in any case.
  const cost = { credits: reuse ? 0 : (credits ?? 0), undocumented: credits === null ? 1 : 0 };
  await checkDailyLimit(cost, deps.connection.identity.keyId, deps, spec);
  const request = references === null ? checked.request : await uploaded(spec, references, deps, say);
  const final = { ...spec, checked: { ...checked, request, warnings } };
  if (reusing !== null) return reusing.generateOrReuse(final, deps);
  const report = await submitNew(final, deps);
  const isSettled = repeated !== null && isUnknown(await deps.ledger.asItStands(repeated));
  return isSettled ? settled(repeated, report, deps) : report;
}

/** The error for --no-wait at a generator without ids: nothing is left to come back to once the command has ended. */
function noIds({ name }: GeneratorFacts): UsageError {
  return new UsageError(
    ({ noWait }) => `${noWait} needs imggen serve: without it the task ends with this command.`,
    {
      hint: `Nothing was sent. Run it, and use it as the service: imggen serve --generator ${shellWord(name)}`,
    },
  );
}

/** The request with the URLs of its reference images. Whatever can fail without an upload has been tried before. */
async function uploaded(
  { checked, destination }: GenerateSpec,
  references: Pick<RequestReferences, "ready">,
  deps: TaskDeps,
  say: (warning: string) => Promise<void>,
): Promise<GenerationRequest> {
  await prepareDestination(destination);
  const { request, warnings } = await references.ready(checked.request, deps);
  for (const warning of warnings) await say(warning);
  return request;
}

/** The user submitted a request of unknown outcome again, so the earlier one is dismissed. */
async function settled(repeated: Task, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  if (report.charged === "no") return report;
  try {
    await dismissTask(repeated, { why: "submitted again", replacement: report.ledgerId }, deps.ledger);
    return report;
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return { ...report, warnings: [...report.warnings, error.message] };
  }
}
