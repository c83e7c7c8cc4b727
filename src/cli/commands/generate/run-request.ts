import { waitSettings } from "../../../client/given-values.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import type { SUBMIT } from "../../../client/options/request-table.ts";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import { requireFree, resolveDestination } from "../../../core/images/destination.ts";
import type { RequestReferences } from "../../../core/references/reference-images.ts";
import { UsageError } from "../../../lib/error-types.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { resolveModel } from "../../../models/find.ts";
import { isLocalFile } from "../../../models/rules/images.ts";
import type { SentRequest } from "../../../providers/provider.ts";
import type { CheckedRequest } from "../../../task/request.ts";
import type { Task } from "../../../task/task.ts";
import { viewingOf } from "../../output/viewing.ts";
import type { Session } from "../../session/session.ts";
import { creditsText } from "../../text/phrases.ts";

/** Flags of every command that submits one request. */
type SubmitFlags = FlagsOf<typeof SUBMIT> & {
  reuse?: boolean | undefined;
  again?: boolean | undefined;
};

/**
 * Submits one request and shows the result.
 * @param repeated the task whose request is submitted again; if its outcome is unknown, it is dismissed
 * @returns the exit code
 */
export async function runRequest(
  checkedRequest: CheckedRequest,
  flags: SubmitFlags,
  session: Session,
  repeated: Task | null = null,
): Promise<number> {
  const { settings, context } = session;
  const { references, checked } = await withReferences(checkedRequest, flags, session);
  const wait = waitSettings(flags, session);
  const output = settings.get("output", { value: flags.output, label: "--output" });
  if (output?.value === "-") await requireOneImageOut(checked, flags, session, output.label);
  const sidecar = settings.isOn("sidecar", flags.sidecar);
  const viewing = viewingOf(flags, session);
  const { name, overwrite = false, maxCredits, requestTimeoutMs } = flags;
  const rules = {
    matrix: await (await targetInEffect(session)).matrix(),
    allowUndocumented: !flags.validate,
  };
  // Elsewhere when it is known that nothing charged earlier answers for the request: that costs nothing.
  if (maxCredits !== undefined && flags.dryRun) {
    const { checkBudget } = await import("../../../core/limits/budget.ts");
    checkBudget(checked, maxCredits, rules);
  }
  const place = { output: output?.value, name, overwrite, sidecar, resolvePath: context.resolvePath };
  const destination = await resolveDestination({ ...place, mayExist: true });
  if (flags.dryRun) await requireFree(destination);
  for (const warning of checked.warnings) await session.console.warn(warning);
  if (flags.dryRun) return showDryRun(checked, references, flags, session);
  const { submitShown } = await import("./submit-shown.ts");
  const spec = {
    checked,
    destination,
    references,
    wait: flags.wait ? wait : null,
    repeated,
    reuse: flags.reuse === true,
    again: flags.again === true,
    maxCredits,
    ...rules,
    requestTimeoutMs,
    viewing,
    // Where the user wants the images, unless that is an exact path, or nowhere.
    folder: flags.output !== undefined && destination.kind === "folder" ? destination.folder : null,
  };
  return submitShown(spec, session);
}

/** The reference images that must be checked or uploaded, which few requests have, and what is said of them. */
async function withReferences(
  checked: CheckedRequest,
  flags: SubmitFlags,
  session: Session,
): Promise<{ references: RequestReferences | null; checked: CheckedRequest }> {
  const images = [checked.request.image ?? []].flat();
  const isChecked = flags.checkImages === true && images.length > 0;
  if (!isChecked && !images.some(isLocalFile)) return { references: null, checked };
  const { openReferences } = await import("./open-references.ts");
  const { references, warnings } = await openReferences(images, flags, session);
  return { references, checked: { ...checked, warnings: [...checked.warnings, ...warnings] } };
}

/** Shows a request as it would be sent, its cost, and the files that would be uploaded for it. Uploads nothing. */
async function showDryRun(
  checked: CheckedRequest,
  references: RequestReferences | null,
  { checkImages }: SubmitFlags,
  session: Session,
): Promise<number> {
  const { credits, warnings } = checked;
  const plan = await references?.plan(checked.request);
  const { request, uploads } = plan ?? { request: checked.request, uploads: [] };
  if (checkImages) await session.console.warn("--check-images was skipped: --dry-run opens no connection.");
  const described = await (await targetInEffect(session)).describe([["", checked.request]]);
  const sent = described?.sent ?? null;
  if (session.options.json) {
    const said = warnings.length > 0 ? { warnings } : {};
    const files = uploads.map(({ path: file, bytes, sha256 }) => ({ file, bytes, sha256 }));
    const uploading = files.length > 0 ? { uploads: files } : {};
    const requests = described && { requests: described.requests };
    const facts = { request, ...(sent && { sent }), ...requests, credits, ...uploading, ...said };
    await session.console.json({ ok: true, dryRun: true, ...facts });
    return 0;
  }
  const count = described && described.requests > 1 ? `${described.requests} requests, ` : "";
  await session.console.result([
    ...sentLines(sent ?? { method: "POST", url: "/generate-image", body: request }),
    ...uploads.map(({ name }) => `${name} would be uploaded first, and its URL sent`),
    `${count}${creditsText(credits, session.isSandbox ? "sandbox" : null)}, nothing was sent`,
  ]);
  return 0;
}

function sentLines(sent: SentRequest): string[] {
  if ("command" in sent) return [sent.command.map((word) => shellWord(word)).join(" ")];
  // A workflow is long, and what it is given is what the user wants to see.
  if (sent.workflow) return [`${sent.method} ${sent.url}`, ...sent.workflow];
  return [`${sent.method} ${sent.url}`, ...JSON.stringify(sent.body, null, 2).split("\n")];
}

/**
 * Standard output carries the bytes of one image, and nothing else.
 * @param label what asked for it: the flag, or the setting
 * @throws UsageError
 */
async function requireOneImageOut(
  { request }: CheckedRequest,
  flags: SubmitFlags,
  session: Session,
  label: string,
): Promise<void> {
  const { options, context } = session;
  const refuse = (why: string, hint?: string): never => {
    throw new UsageError(`${label} - ${why}.`, { hint });
  };
  if (options.json) refuse("and --json both need standard output");
  if (!flags.wait) refuse("needs the image, and --no-wait does not wait for it");
  if (flags.sidecar) refuse("has no place for a sidecar");
  if (context.stdout.isTTY) refuse("would write an image's bytes to the terminal", "Redirect it to a file.");
  const most =
    request.maxImages ??
    resolveModel(request.model, await (await targetInEffect(session)).matrix())?.maxImages ??
    1;
  if (most > 1) refuse("takes one image", "Add --max-images 1, or choose a folder.");
}
