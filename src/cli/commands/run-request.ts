import { RANDOM } from "../../client/options/option.ts";
import type { RequestPlan, SubmitFlags } from "../../client/request-plan.ts";
import { UsageError } from "../../lib/error-types.ts";
import { shellWord } from "../../lib/shell-word.ts";
import type { SentRequest } from "../../providers/provider.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { Task } from "../../task/task.ts";
import { parseDisplayOptions } from "../output/viewing.ts";
import type { Session } from "../session/session.ts";
import { creditsText } from "../text/phrases.ts";

/** @param repeated task whose request is submitted again; dismissed if its outcome is unknown @returns the exit code */
export async function runRequest(
  request: CheckedRequest,
  flags: SubmitFlags,
  session: Session,
  repeated: Task | null = null,
): Promise<number> {
  const { planRequest } = await import("../../client/request-plan.ts");
  const display = parseDisplayOptions(flags, session);
  const plan = await planRequest(request, flags, session, repeated);
  if (plan.destination.kind === "stdout") requireSingleImage(plan, flags, session);
  for (const warning of plan.checked.warnings) await session.console.warn(warning);
  if (flags.dryRun) return showDryRun(plan, flags, session);
  const { submitShown } = await import("./submit-shown.ts");
  const { requestTimeoutMs, yes = false } = flags;
  return submitShown({ ...plan, requestTimeoutMs, display, yes }, session);
}

async function showDryRun(
  plan: RequestPlan,
  { checkImages }: SubmitFlags,
  session: Session,
): Promise<number> {
  const { credits, warnings } = plan.checked;
  if (checkImages)
    await session.console.warn("--check-images was skipped, because --dry-run opens no connection.");
  const { describeDryRun } = await import("../../client/request-plan.ts");
  const { request, uploads, described } = await describeDryRun(plan, session);
  const wireRequest = described?.sent ?? null;
  if (session.options.json) {
    const warningFields = warnings.length > 0 ? { warnings } : {};
    const files = uploads.map(({ path: file, bytes, sha256 }) => ({ file, bytes, sha256 }));
    const uploading = files.length > 0 ? { uploads: files } : {};
    const requests = described && { requests: described.requests };
    const size = described?.isSizedByReference && { size: REFERENCE_SIZE };
    const seed = described?.seedBy && { seed: RANDOM };
    const facts = {
      request,
      ...(wireRequest && { sent: wireRequest }),
      ...requests,
      ...size,
      ...seed,
      credits,
      ...uploading,
      ...warningFields,
    };
    await session.console.json({ ok: true, dryRun: true, ...facts });
    return 0;
  }
  const count = described && described.requests > 1 ? `${described.requests} requests, ` : "";
  await session.console.result([
    ...sentLines(wireRequest ?? { method: "POST", url: "/generate-image", body: request }),
    ...(described?.isModelOpen ? ["model: the server's default"] : []),
    ...(described?.isSizedByReference ? [`size: ${REFERENCE_SIZE}`] : []),
    ...(described?.seedBy ? [`seed: ${RANDOM} (chosen by ${described.seedBy})`] : []),
    ...uploads.map(({ name }) => `${name} would be uploaded first, and its URL sent`),
    `${count}${creditsText(credits, session.isSandbox ? "sandbox" : null)}, nothing was sent`,
  ]);
  return 0;
}

const REFERENCE_SIZE = "as the reference image";

export function sentLines(request: SentRequest): string[] {
  if ("command" in request) return [request.command.map((word) => shellWord(word)).join(" ")];
  // A workflow is long, so only its inputs are shown.
  if (request.workflow) return [`${request.method} ${request.url}`, ...request.workflow];
  return [`${request.method} ${request.url}`, ...JSON.stringify(request.body, null, 2).split("\n")];
}

/** @throws UsageError unless standard output will contain the bytes of exactly one image */
function requireSingleImage(
  { maxImages, outputLabel }: RequestPlan,
  flags: SubmitFlags,
  { options, context }: Session,
): void {
  const refuse = (reason: string, hint?: string): never => {
    throw new UsageError(`${outputLabel} - ${reason}.`, { hint });
  };
  if (options.json) refuse("and --json both need standard output");
  if (!flags.wait) refuse("cannot be combined with --no-wait, which does not wait for the image");
  if (flags.sidecar) refuse("does not support a sidecar");
  if (context.stdout.isTTY)
    refuse("would write an image's bytes to the terminal", "Redirect standard output to a file.");
  if (maxImages > 1) refuse("supports only one image", "Add --max-images 1, or choose a folder.");
}
