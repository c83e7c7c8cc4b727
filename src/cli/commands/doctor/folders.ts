import { constants, promises, type Stats } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { openLedger } from "../../../client/session.ts";
import { tasksToResume } from "../../../core/use-cases/resume.ts";
import { errorCode, errorText } from "../../../lib/error-text.ts";
import { ImggenError } from "../../../lib/error-types.ts";
import { shellWord } from "../../../lib/shell-word.ts";
import { counted } from "../../../lib/whole-number.ts";
import { StateFolderError } from "../../../store/errors.ts";
import { mayBeTask } from "../../../store/ledger-entry.ts";
import { effectiveState, STATE_WORDS, stateWord } from "../../../task/lifecycle.ts";
import { isInHistory } from "../../../task/record.ts";
import type { Session } from "../../session/session.ts";
import { type CheckResult, failed, needed, news, ok, warning } from "./check.ts";

const WRITABLE_BY_OTHERS = 0o022;
const MIB = 1024 ** 2;
/** The least free space: a task's file and the reserve beside it must fit, or nothing is submitted. */
const LEAST_FREE_BYTES = MIB;
/** Images take a few MiB each. */
const LITTLE_FREE_BYTES = 100 * MIB;

/** The folders of settings and state. @throws NotChecked where there are none */
export function knownFolders(session: Session) {
  return needed("there is no folder for settings and the ledger", () => session.folders);
}

/** Where the ledger is: a request is only submitted once it is on disk there. */
export async function checkState(session: Session): Promise<CheckResult> {
  const { state: folder } = await knownFolders(session);
  const { exists, mode: bits, freeBytes, problem } = await folderFacts(folder);
  const mode = bits === null ? null : modeText(bits);
  const facts = { folder, exists, mode, freeBytes };
  const unusable = problem ?? (await problemBelow(folder));
  if (unusable !== null) {
    const hint = "Nothing can be submitted. Fix its permissions, or set IMGGEN_HOME to another folder.";
    throw new StateFolderError(folder, unusable, { hint });
  }
  const free = freeBytes === null ? null : bytesText(freeBytes);
  const little = `The disk of ${folder} has only ${free} left.`;
  const elsewhere = "Nothing can be submitted. Free some space, or set IMGGEN_HOME to another folder.";
  if (freeBytes !== null && freeBytes < LEAST_FREE_BYTES) return failed(little, elsewhere, facts);
  if (freeBytes !== null && freeBytes < LITTLE_FREE_BYTES) return warning(little, "Free some space.", facts);
  if (((bits ?? 0) & WRITABLE_BY_OTHERS) !== 0)
    return warning(
      `Other users can write to ${folder} (mode ${mode}).`,
      `Run: chmod 700 ${shellWord(folder)}`,
      facts,
    );
  const parts = [folder, !exists && "not there yet", mode && `mode ${mode}`, free && `${free} free`];
  return ok(parts.filter(Boolean).join(", "), facts);
}

/** Folders of the ledger may belong to another user, for example where imggen was once run as root. */
async function problemBelow(state: string): Promise<unknown> {
  for (const name of ["tasks", path.join("tasks", "open"), path.join("tasks", "done")]) {
    const { problem } = await folderFacts(path.join(state, name));
    if (problem !== null) return problem;
  }
  return null;
}

/** Where images go without `--output`. */
export async function checkFolder({ context }: Session): Promise<CheckResult> {
  const hint = "Change to another folder, or save elsewhere with --output.";
  try {
    const folder = context.resolvePath(".");
    const { problem } = await folderFacts(folder);
    if (problem === null) return ok(folder, { folder });
    return warning(`No image can be saved in ${folder}: ${errorText(problem)}.`, hint, { folder });
  } catch (error) {
    if (error instanceof ImggenError) return warning(error.message, hint, { folder: null });
    throw error;
  }
}

/** What the ledger has left to do. */
export async function checkTasks(session: Session): Promise<CheckResult> {
  const { context, isSandbox } = session;
  const ledger = openLedger({ folders: await knownFolders(session), context });
  const { targets, served, unreadable: entries } = await tasksToResume([], isSandbox, ledger);
  const records = targets.flatMap(({ record }) => (record !== null && isInHistory(record) ? record : []));
  const left = await Promise.all(
    records.filter((record) => !ledger.isClaimed(record)).map((record) => ledger.asItStands(record)),
  );
  const inProgress = records.length - left.length + served.length;
  const words = left.map(({ state }) => stateWord(effectiveState(state)));
  const unknown = words.filter((word) => word === "unknown").length;
  const unfinished = words.filter((word) => word !== null && word !== "unknown").length;
  const byWord = STATE_WORDS.filter((word) => word !== "unknown" && words.includes(word)).map(
    (word) => `${words.filter((each) => each === word).length} ${word}`,
  );
  const unreadable = entries.filter(mayBeTask).length;
  const facts = { inProgress, unfinished, unknown, unreadable };
  const found = [
    unfinished > 0 && `${counted(unfinished, "task is", "tasks are")} unfinished (${byWord.join(", ")}).`,
    unknown > 0 && `The outcome of ${counted(unknown, "request")} is unknown.`,
    unreadable > 0 && `${counted(unreadable, "file")} of the ledger cannot be read.`,
  ].filter((message) => message !== false);
  if (found.length === 0)
    return inProgress === 0 ? ok("none unfinished", facts) : news(`${inProgress} in progress`, facts);
  const canFinish = unfinished > 0 && found.length === 1;
  const purpose = canFinish ? "To finish them" : "To see what to do about each";
  return warning(found.join(" "), `${purpose}: imggen resume${isSandbox ? " --sandbox" : ""}`, facts);
}

/** What is known of a folder that imggen keeps something in. Nothing is created to find out. */
interface FolderFacts {
  exists: boolean;
  /** Its permission bits; null if it does not exist, or the platform has none. */
  mode: number | null;
  /** Free space of its disk, for this user; null if the system does not say. */
  freeBytes: number | null;
  /** What keeps this user from creating files there, as the system says it; null if nothing does. */
  problem: unknown;
}

/** A folder that need not exist: it would be created in the nearest one above it that does. */
export async function folderFacts(folder: string): Promise<FolderFacts> {
  try {
    const { existing, stats } = await nearest(folder);
    const exists = existing === folder;
    const mode = exists ? modeOf(stats) : null;
    const disk = await promises.statfs(existing).catch(() => null);
    const freeBytes = disk && disk.bavail * disk.bsize;
    return { exists, mode, freeBytes, problem: await problemAt(existing, stats) };
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    return { exists: false, mode: null, freeBytes: null, problem: error };
  }
}

/** @throws the disk's error */
async function nearest(folder: string): Promise<{ existing: string; stats: Stats }> {
  try {
    return { existing: folder, stats: await promises.stat(folder) };
  } catch (error) {
    const above = path.dirname(folder);
    if (errorCode(error) !== "ENOENT" || above === folder) throw error;
    return nearest(above);
  }
}

async function problemAt(existing: string, stats: Stats): Promise<unknown> {
  if (!stats.isDirectory())
    return Object.assign(new Error(`${existing} is not a folder`), { code: "ENOTDIR" });
  const access = promises.access(existing, constants.W_OK | constants.X_OK);
  return access.then(() => null).catch((error: unknown) => error);
}

/** Permission bits; null where the platform has none. */
export function modeOf({ mode }: Stats): number | null {
  return platform() === "win32" ? null : mode & 0o777;
}

/** Permission bits as chmod takes them: `0700`. */
export function modeText(mode: number): string {
  return mode.toString(8).padStart(4, "0");
}

const UNITS = ["bytes", "KiB", "MiB", "GiB", "TiB"];

/** `512 bytes`, `1.5 GiB`, `120 GiB`. */
export function bytesText(bytes: number): string {
  const at = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** at;
  return `${amount < 10 ? Math.floor(amount * 10) / 10 : Math.floor(amount)} ${UNITS[at]}`;
}
