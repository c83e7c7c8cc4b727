import path from "node:path";
import type { PrivateCopies } from "../core/references/private-copies.ts";
import { errorCode } from "../lib/error-text.ts";
import type { GeneratorTerms } from "../models/check-request.ts";
import { StateFolderError } from "../store/store-errors.ts";
import type { ClientSession } from "./client-session.ts";
import type { OwnGenerator } from "./generator-settings.ts";

/** The user's own generator, where it takes the place of a service; else null. What reads it is loaded only then. */
export async function generatorInEffect(
  session: Pick<ClientSession, "settings" | "context" | "folders">,
): Promise<OwnGenerator | null> {
  const setting = session.settings.generator();
  if (setting === undefined) return null;
  const { ownGenerator } = await import("./own-generator.ts");
  return ownGenerator(setting, session);
}

/**
 * Terms that requests to the user's own generator are checked against; null for a service. A generator may be asked for
 * its models where the request names none.
 * @param request `dryRun`: no connection is to be opened
 */
export async function termsInEffect(
  session: Pick<ClientSession, "settings" | "context" | "folders" | "onExchange">,
  request: { validate?: boolean | undefined; model?: string | undefined; dryRun?: boolean | undefined },
): Promise<GeneratorTerms | null> {
  const generator = await generatorInEffect(session);
  if (generator === null) return null;
  const { termsAsked, termsUnasked } = await import("./generator-terms.ts");
  const isNeeded =
    request.model === undefined || request.validate !== false || generator.options.workflow !== undefined;
  const isAsked = isNeeded && request.dryRun !== true;
  return isAsked ? termsAsked(generator, session) : termsUnasked(generator, session);
}

/** Where private copies of reference images are kept. */
function referencesFolder({ state }: { state: string }): string {
  return path.join(state, "references");
}

/**
 * Copies of the files among reference images for the user's own generator, which gets the files themselves; null where a
 * service takes URLs.
 * @param label how messages name a reference image
 */
export async function copiesForGenerator(
  session: Pick<ClientSession, "settings" | "context" | "folders">,
  label: string,
  { resolvePath = session.context.resolvePath, checksUrls = false } = {},
): Promise<PrivateCopies | null> {
  const generator = await generatorInEffect(session);
  if (generator === null) return null;
  const { PrivateCopies } = await import("../core/references/private-copies.ts");
  const folder = referencesFolder(session.folders);
  return new PrivateCopies({ folder, checksUrls, label, resolvePath });
}

/** Where the sandbox keeps its accounts and tasks between runs. */
export function sandboxFolder({ state }: { state: string }): string {
  return path.join(state, "sandbox");
}

/**
 * Starts a service that keeps its tasks in a folder.
 * @throws StateFolderError if the disk refuses that folder; of the port, what the system says
 */
export async function startService<Service>(folder: string, start: () => Promise<Service>): Promise<Service> {
  try {
    return await start();
  } catch (error) {
    if (errorCode(error) === undefined || isOfPort(error)) throw error;
    throw new StateFolderError(folder, error, {
      hint: "Nothing was sent. Free some space or fix its permissions, or set IMGGEN_HOME to another folder.",
    });
  }
}

/** Whether a system error says that a port could not be opened. */
export function isOfPort(error: unknown): boolean {
  return error instanceof Error && "syscall" in error && error.syscall === "listen";
}
