import type { TaskDeps } from "../core/deps.ts";
import { prepareDestination } from "../core/images/destination.ts";
import { checkDailyLimit } from "../core/limits/daily-limit.ts";
import type { ReferenceImages } from "../core/references/reference-images.ts";
import { dismissTask } from "../core/task/dismiss.ts";
import { type GenerateSpec, generate } from "../core/task/generate.ts";
import { findUnfinishedDuplicate } from "../core/task/history.ts";
import type { TaskReport } from "../core/task/report.ts";
import { ImggenError } from "../lib/error-types.ts";
import { isUnknown, type TaskRecord } from "../task/record.ts";
import type { GenerationRequest } from "../task/request.ts";
import { resumeCommand } from "./failure.ts";

export interface SubmitSpec extends GenerateSpec {
  /** Reference images that are to be checked or uploaded first; absent where all are sent as they are. */
  references?: Pick<ReferenceImages, "known" | "ready"> | null;
  /** The task that the user asked to submit again: it is not warned about. */
  repeated: TaskRecord | null;
  /** Whether an identical request that was charged already is reused, begun by another process just now perhaps. */
  reuse: boolean;
  /** Whether a request without a documented cost may be submitted under a limit. */
  allowUndocumented: boolean;
}

/**
 * Warns about an unfinished task for the same request unless it is to be reused, checks the daily limit, uploads
 * reference images, and generates.
 * @throws BudgetExceededError if the day's limit would be passed, or what `ReferenceImages.ready` and `generate` throw;
 *   nothing was sent
 */
export async function submitRequest(
  spec: SubmitSpec,
  deps: TaskDeps,
  onWarning: (message: string) => Promise<void>,
): Promise<TaskReport> {
  const { repeated, checked, allowUndocumented, reuse, references = null } = spec;
  const { ledger, connection } = deps;
  const warnings = [...checked.warnings];
  const say = async (warning: string) => {
    warnings.push(warning);
    await onWarning(warning);
  };
  const known = references === null ? checked.request : await references.known(checked.request);
  const twin = known && !reuse && (await findUnfinishedDuplicate(ledger, known, connection.identity));
  if (twin && twin.id !== repeated?.id) {
    await say(twinWarning(twin));
  }
  const { credits } = checked;
  // What is reused costs nothing; before a new one is sent, its cost is checked in any case.
  const cost = { credits: reuse ? 0 : (credits ?? 0), undocumented: credits === null ? 1 : 0 };
  await checkDailyLimit(cost, connection.identity.keyId, deps, allowUndocumented);
  const request = references === null ? checked.request : await uploaded(spec, references, deps, say);
  const final = { ...spec, checked: { ...checked, request, warnings } };
  if (reuse) return (await import("../core/task/reuse.ts")).generateOrReuse(final, deps);
  const report = await generate(final, deps);
  return repeated && isUnknown(repeated) ? settled(repeated, report, deps) : report;
}

/** The request with the URLs of its reference images. Whatever can fail without an upload has been tried before. */
async function uploaded(
  { checked, destination }: SubmitSpec,
  references: Pick<ReferenceImages, "ready">,
  deps: TaskDeps,
  say: (warning: string) => Promise<void>,
): Promise<GenerationRequest> {
  await prepareDestination(destination, deps.ledger.processes);
  const { request, warnings } = await references.ready(checked.request, deps);
  for (const warning of warnings) await say(warning);
  return request;
}

/** The user submitted a request of unknown outcome again, so the earlier one is dismissed. */
async function settled(repeated: TaskRecord, report: TaskReport, deps: TaskDeps): Promise<TaskReport> {
  if (report.charged === "no") return report;
  try {
    await dismissTask(repeated, { why: "submitted again", replacement: report.ledgerId }, deps);
    return report;
  } catch (error) {
    if (!(error instanceof ImggenError)) throw error;
    return { ...report, warnings: [...report.warnings, error.message] };
  }
}

function twinWarning(twin: TaskRecord): string {
  if ("taskId" in twin.state) {
    const { taskId } = twin.state;
    return `An identical request is charged and unfinished (task ${taskId}). This one is submitted and charged too. To finish that one at no cost: ${resumeCommand(taskId)}`;
  }
  if (twin.state.name === "rate_limited")
    return `Another process waits to submit the same request (${twin.id}). This one is submitted and charged too.`;
  return `An identical request was submitted before, with unknown outcome (${twin.id}). This request is submitted and charged too.`;
}
