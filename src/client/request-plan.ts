import { requireFree, resolveDestination } from "../core/images/destination.ts";
import type { RequestReferences } from "../core/references/reference-images.ts";
import type { GenerateSpec } from "../core/use-cases/generate.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import { checkRequest } from "../models/check-request.ts";
import { resolveModel } from "../models/find.ts";
import { isLocalFile } from "../models/rules/images.ts";
import { type CheckedRequest, type GenerationRequest, withRepeatedSeed } from "../task/request.ts";
import type { Task } from "../task/task.ts";
import type { ClientSession } from "./client-session.ts";
import { canUpload, outputSettings, readRequestFlags } from "./given-values.ts";
import type { FlagsOf } from "./options/option.ts";
import type { GENERATE, SUBMIT } from "./options/request-table.ts";
import type { DescribedRequest } from "./targets/target.ts";
import { targetInEffect, uncheckedCap } from "./targets/target-in-effect.ts";

export type SubmitFlags = FlagsOf<typeof SUBMIT> & {
  reuse?: boolean | undefined;
  again?: boolean | undefined;
  yes?: boolean | undefined;
};

type OneRequestFlags = Omit<FlagsOf<typeof GENERATE>, "seed"> & { seed?: WholeNumber | undefined };

export interface RequestPlan extends GenerateSpec {
  references: RequestReferences | null;
  maxImages: number;
  outputLabel: string;
  folder: string | null;
}

/** @returns `unusable`: the generator's error, not thrown because the caller first looks for an unfinished task */
export async function checkNewRequest(
  prompt: string,
  flags: OneRequestFlags,
  session: ClientSession,
): Promise<{ checked: CheckedRequest } | { unusable: unknown }> {
  const { values, savedFields, labels } = readRequestFlags(flags, session);
  const uploads = canUpload(values.image, session);
  const target = await targetInEffect(session);
  const terms = await target.terms({ ...flags, model: values.model }).then(
    (generator) => ({ generator }),
    (unusable: unknown) => ({ unusable }),
  );
  if ("unusable" in terms) return terms;
  const options = { validate: flags.validate, labels, savedFields, uploads, ...terms };
  return { checked: checkRequest({ ...values, prompt }, await target.matrix(), options) };
}

/**
 * Resolves the destination, budget and reference images. Reads files, but does not connect.
 * @param repeated task that is repeated, and dismissed after the submit if its outcome is unknown
 * @throws UsageError, BudgetExceededError
 */
export async function planRequest(
  request: CheckedRequest,
  flags: SubmitFlags,
  session: ClientSession,
  repeated: Task | null = null,
): Promise<RequestPlan> {
  const { resolvePath } = session.context;
  const { references, checked: requestWithReferences } = await openRequestReferences(request, flags, session);
  const { output, outputLabel = "--output", sidecar, wait } = outputSettings(flags, session);
  const { name, overwrite = false, maxCredits } = flags;
  const target = await targetInEffect(session);
  const matrix = await target.matrix();
  const capWarning = uncheckedCap(target, flags, [requestWithReferences]);
  const checked =
    capWarning === null
      ? requestWithReferences
      : { ...requestWithReferences, warnings: [...requestWithReferences.warnings, capWarning] };
  const rules = { matrix, allowUndocumented: !flags.validate || capWarning !== null };
  // A real run checks the budget later, because it might continue an earlier task at no further charge.
  if (maxCredits !== undefined && flags.dryRun) {
    const { checkBudget } = await import("../core/limits/budget.ts");
    checkBudget(checked, maxCredits, rules);
  }
  const fileOptions = { output, name, overwrite, sidecar, resolvePath };
  const destination = await resolveDestination({ ...fileOptions, mayExist: true });
  if (flags.dryRun) await requireFree(destination);
  const { model, maxImages } = checked.request;
  return {
    ...{ checked, destination, references, repeated, maxCredits, ...rules },
    wait: flags.wait ? wait : null,
    reuse: flags.reuse === true,
    again: flags.again === true,
    maxImages: maxImages ?? resolveModel(model, matrix)?.maxImages ?? 1,
    outputLabel,
    folder: flags.output !== undefined && destination.kind === "folder" ? destination.folder : null,
  };
}

/** Imports the code for reference images on demand, because few requests have any. */
async function openRequestReferences(
  checked: CheckedRequest,
  flags: SubmitFlags,
  session: ClientSession,
): Promise<{ references: RequestReferences | null; checked: CheckedRequest }> {
  const images = [checked.request.image ?? []].flat();
  const isChecked = flags.checkImages === true && images.length > 0;
  if (!isChecked && !images.some(isLocalFile)) return { references: null, checked };
  const { openReferences } = await import("./open-references.ts");
  const { references, warnings } = await openReferences(images, flags, session);
  return { references, checked: { ...checked, warnings: [...checked.warnings, ...warnings] } };
}

export interface DryRun {
  request: GenerationRequest;
  uploads: Awaited<ReturnType<RequestReferences["plan"]>>["uploads"];
  /** Null if the target sends the request unchanged. */
  described: DescribedRequest | null;
}

/** Uploads nothing, and does not connect. @throws InvalidRequestError */
export async function describeDryRun(
  { checked, references }: RequestPlan,
  session: ClientSession,
): Promise<DryRun> {
  const seededRequest = withRepeatedSeed(checked);
  const { request, uploads } = (await references?.plan(seededRequest)) ?? {
    request: seededRequest,
    uploads: [],
  };
  const described = await (await targetInEffect(session)).describe([["", seededRequest]]);
  return { request, uploads, described };
}
