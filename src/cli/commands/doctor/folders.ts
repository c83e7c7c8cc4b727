import module from "node:module";
import { platform } from "node:os";
import path from "node:path";
import { errorText } from "../../../lib/error-text.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { StateFolderError } from "../../../store/errors.ts";
import { type CheckResult, type CheckSpec, failed, ok, warning } from "./check.ts";
import { bytesText, type FolderFacts, folderFacts, modeText } from "./place.ts";
import { knownFolders } from "./settings.ts";

const WRITABLE_BY_OTHERS = 0o022;
const MIB = 1024 ** 2;
/** With less a task's file and the reserve beside it may not fit, and nothing is submitted. */
const LEAST_FREE_BYTES = MIB;
/** Images take a few MiB each. */
const LITTLE_FREE_BYTES = 100 * MIB;

/** Where the ledger is: a request is only submitted once it is on disk there. */
export async function checkState({ session }: CheckSpec): Promise<CheckResult> {
  const { state } = knownFolders(session);
  const place = await folderFacts(state);
  const problem = place.problem ?? (await problemBelow(state));
  if (problem !== null) {
    const hint = "Nothing can be submitted. Fix its permissions, or set IMGGEN_HOME to another folder.";
    throw new StateFolderError(state, problem, { hint });
  }
  return ofRoom(state, place) ?? ofMode(state, place) ?? ok(described(state, place), factsOf(state, place));
}

/** Where imggen was once run as root, for example, folders of the ledger belong to another user. */
async function problemBelow(state: string): Promise<unknown> {
  for (const name of ["tasks", path.join("tasks", "open"), path.join("tasks", "done")]) {
    const { problem } = await folderFacts(path.join(state, name));
    if (problem !== null) return problem;
  }
  return null;
}

function ofRoom(state: string, place: FolderFacts): CheckResult | null {
  const { freeBytes } = place;
  if (freeBytes === null || freeBytes >= LITTLE_FREE_BYTES) return null;
  const message = `The disk of ${state} has only ${bytesText(freeBytes)} left.`;
  if (freeBytes < LEAST_FREE_BYTES)
    return failed(
      message,
      "Nothing can be submitted. Free some space, or set IMGGEN_HOME to another folder.",
      factsOf(state, place),
    );
  return warning(message, "Free some space.", factsOf(state, place));
}

function ofMode(state: string, place: FolderFacts): CheckResult | null {
  if (place.mode === null || (place.mode & WRITABLE_BY_OTHERS) === 0) return null;
  return warning(
    `Other users can write to ${state} (mode ${modeText(place.mode)}).`,
    `Run: chmod 700 ${shellWord(state)}`,
    factsOf(state, place),
  );
}

function described(folder: string, { exists, mode, freeBytes }: FolderFacts): string {
  const parts = [
    folder,
    !exists && "not there yet",
    mode !== null && `mode ${modeText(mode)}`,
    freeBytes !== null && `${bytesText(freeBytes)} free`,
  ];
  return parts.filter((part) => part !== false).join(", ");
}

function factsOf(folder: string, { exists, mode, freeBytes }: FolderFacts) {
  return { folder, exists, mode: mode === null ? null : modeText(mode), freeBytes };
}

/** Compiled code that Node keeps between runs. It only saves time, so its absence is no fault. */
export async function checkCache({ session }: CheckSpec): Promise<CheckResult> {
  const inUse = cacheInUse();
  if (inUse !== null) return ok(inUse, { folder: inUse });
  const { state } = knownFolders(session);
  const why = await whyNoCache(state, session.context.env.NODE_DISABLE_COMPILE_CACHE);
  if (why !== null) return ok(`none (${why})`, { folder: null });
  return warning(
    `No compiled code is kept, so each start takes longer: other users may be able to replace ${state}.`,
    "It and every folder above it must belong to you or root, and no other user may write to them.",
    { folder: null },
  );
}

/** Without the folder in it for this release of Node. The types of the oldest supported Node do not know it. */
function cacheInUse(): string | null {
  if (!("getCompileCacheDir" in module) || typeof module.getCompileCacheDir !== "function") return null;
  const folder: unknown = module.getCompileCacheDir();
  return typeof folder === "string" ? path.dirname(folder) : null;
}

/** null if the cause is that other users can write to its folder, or to one above. */
async function whyNoCache(state: string, disabled: string | undefined): Promise<string | null> {
  if (disabled) return "NODE_DISABLE_COMPILE_CACHE";
  if (platform() === "win32") return "not used on Windows";
  if (!("enableCompileCache" in module)) return "Node 22.1 or later keeps one";
  return (await folderFacts(state)).exists ? null : "begins with the first task";
}

/** Where images go without `--output`. */
export async function checkFolder({ session }: CheckSpec): Promise<CheckResult> {
  const hint = "Change to another folder, or save elsewhere with --output.";
  try {
    const folder = session.context.resolvePath(".");
    const { problem } = await folderFacts(folder);
    if (problem === null) return ok(folder, { folder });
    return warning(`No image can be saved in ${folder}: ${errorText(problem)}.`, hint, { folder });
  } catch (error) {
    if (error instanceof ImggenError) return warning(error.message, hint, { folder: null });
    throw error;
  }
}
