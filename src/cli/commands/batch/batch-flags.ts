import { waitSettings } from "../../../client/given-values.ts";
import type { FlagsOf } from "../../../client/options/option.ts";
import type { SUBMIT_MANY } from "../../../client/options/request-table.ts";
import { targetInEffect } from "../../../client/targets/target-in-effect.ts";
import { type BatchSpec, DEFAULT_CONCURRENCY } from "../../../core/batch/batch-spec.ts";
import { type GivenFolder, type OutputFolder, outputFolder } from "../../../core/batch/row-files.ts";
import type { Session } from "../../session/session.ts";

/** Flags of every command that submits many requests. */
type BatchFlags = FlagsOf<typeof SUBMIT_MANY>;

/** How a batch is run, as its flags say: all but its rows. */
export type BatchTerms = Omit<BatchSpec, "rows" | "shard" | "budgetOf" | "nameOf"> & {
  requestTimeoutMs: number | undefined;
  /** Whether a contact sheet is made. */
  sheet: boolean;
};

/** @param naming how images are named without `--name`, and whether a name may use columns @throws UsageError */
export async function batchTerms(flags: BatchFlags, session: Session, naming: Naming): Promise<BatchTerms> {
  return {
    output: await folderOf(flags, session, naming),
    wait: waitSettings(flags, session),
    requestTimeoutMs: flags.requestTimeoutMs,
    sheet: flags.sheet === true,
    concurrency: flags.concurrency ?? DEFAULT_CONCURRENCY,
    retryFailed: flags.retryFailed === true,
    resubmitUnknown: flags.resubmitUnknown === true,
    cap: flags.maxCredits ?? null,
    yes: flags.yes === true,
    confirmAbove: session.settings.confirmAbove(),
    matrix: await (await targetInEffect(session)).matrix(),
    allowUndocumented: !flags.validate,
  };
}

type Naming = Pick<GivenFolder, "template" | "takesColumns">;

async function folderOf(
  { output, name, overwrite = false, sidecar }: BatchFlags,
  { settings, context }: Session,
  naming: Naming,
): Promise<OutputFolder> {
  const setting = settings.get("output", { value: output, label: "--output" });
  return outputFolder({
    output: setting?.value,
    label: setting?.label ?? "--output",
    name,
    overwrite,
    sidecar: settings.isOn("sidecar", sidecar),
    resolvePath: context.resolvePath,
    ...naming,
  });
}
