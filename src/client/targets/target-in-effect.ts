import type { PrivateCopies } from "../../core/references/private-copies.ts";
import { NoHomeError } from "../../lib/home-folder.ts";
import type { CheckedRequest } from "../../task/request.ts";
import type { ClientSession } from "../client-session.ts";
import { type EffectiveValue, serverKey } from "../effective-settings.ts";
import { referencesFolder } from "../user-folders.ts";
import type { GeneratorTarget } from "./generator-target.ts";
import { SandboxTarget } from "./sandbox-target.ts";
import { ServiceTarget } from "./service-target.ts";
import type { Target, TargetSession } from "./target.ts";

/** Returns the target of new requests. @throws UsageError if one source sets two targets, SettingsError */
export async function targetInEffect(
  session: TargetSession,
): Promise<SandboxTarget | ServiceTarget | GeneratorTarget> {
  const generator = readSetting(() => session.settings.generator());
  if (generator !== undefined) {
    const { GeneratorTarget } = await import("./generator-target.ts");
    return GeneratorTarget.inEffect(generator, session);
  }
  if (session.isSandbox) return new SandboxTarget(session);
  if (readSetting(() => serverKey(session.settings)) === undefined) return new ServiceTarget(session);
  const { ServeTarget } = await import("./serve-target.ts");
  return new ServeTarget(session);
}

/** Ignores a missing home folder, because commands that only list models do not need a home folder. */
function readSetting(read: () => EffectiveValue | undefined): EffectiveValue | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof NoHomeError) return undefined;
    throw error;
  }
}

/** Returns a warning if a dry run cannot check the cap, because the price is known only to the `imggen serve`. */
export function uncheckedCap(
  { kind }: Pick<Target, "kind">,
  { dryRun, maxCredits }: { dryRun?: boolean | undefined; maxCredits?: number | undefined },
  costs: readonly Pick<CheckedRequest, "credits">[],
): string | null {
  const hasUnknownCost = costs.some(({ credits }) => credits === null);
  if (kind !== "serve" || dryRun !== true || maxCredits === undefined || !hasUnknownCost) return null;
  return "The cap was not checked, because a dry run does not ask the server for the cost.";
}

/** Returns private copies of reference files for a generator, or null for a service. */
export async function copiesForGenerator(
  session: Pick<ClientSession, "settings" | "context" | "folders">,
  label: string,
  { resolvePath = session.context.resolvePath, checksUrls = false } = {},
): Promise<PrivateCopies | null> {
  if (session.settings.generator() === undefined) return null;
  const { PrivateCopies } = await import("../../core/references/private-copies.ts");
  const folder = referencesFolder(session.folders);
  return new PrivateCopies({ folder, checksUrls, label, resolvePath });
}

/** @throws UsageError for invalid flags about a generator, even if no task uses it */
export async function checkGeneratorFlags(session: TargetSession): Promise<void> {
  if (session.isSandbox || Object.keys(session.settings.flags).length === 0) return;
  const { checkFlags } = await import("./generator-setup.ts");
  checkFlags(session);
}
