import { existsSync, promises } from "node:fs";
import { findOrigin, type ImageOrigin, namesTask, originOfTask } from "../core/engine/origin.ts";
import { errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import type { WholeNumber } from "../lib/exact-integer.ts";
import { fileSha256 } from "../lib/file-digest.ts";
import { type ImageInfo, inspectFile } from "../lib/image/inspect.ts";
import { shellWord } from "../lib/shell-word.ts";
import { generatorFieldTexts } from "../task/request.ts";
import { getSavedFiles } from "../task/task.ts";
import { type ClientSession, openLedger } from "./client-session.ts";
import { listedTasks } from "./listed-tasks.ts";

export interface FoundImage {
  path: string;
  seed: WholeNumber | null;
  image: ImageInfo;
}

export interface FoundImages {
  origin: ImageOrigin | null;
  settings: Readonly<Record<string, unknown>>;
  files: FoundImage[];
}

/** @throws UsageError if neither a file nor a task is found */
export async function findImages(fileOrTaskId: string, session: ClientSession): Promise<FoundImages> {
  const ledger = openLedger(session);
  const file = session.context.resolvePath(fileOrTaskId);
  const isTask = await namesTask(fileOrTaskId, ledger);
  const stats = isTask ? null : await promises.stat(file).catch(() => null);
  if (stats?.isFile()) {
    const sha256 = await fileSha256(file).catch((error) => {
      throw new UsageError(`${fileOrTaskId} cannot be read: ${errorText(error)}.`, { cause: error });
    });
    const origin = await findOrigin(file, sha256, ledger);
    return withSettings(origin, [inspectImage(file, origin?.seed ?? origin?.request.seed)]);
  }
  if (stats?.isDirectory())
    throw new UsageError(`${fileOrTaskId} is a folder.`, {
      hint: `To look through its images: imggen gallery ${shellWord(fileOrTaskId)}`,
    });
  const record = stats === null ? await ledger.find(fileOrTaskId) : null;
  if (record === null)
    throw new UsageError(`There is neither an image file nor a task ${JSON.stringify(fileOrTaskId)}.`, {
      hint: "To see the tasks of this machine: imggen history",
    });
  const files = getSavedFiles(record).flatMap(({ path, seed }) => (path === null ? [] : [{ path, seed }]));
  if (files.length === 0) {
    throw new UsageError(`No image of task ${fileOrTaskId} is saved in a file.`, {
      hint: "imggen history shows the status of each task; imggen resume saves what is unfinished.",
    });
  }
  return withSettings(
    originOfTask(record),
    files.map(({ path, seed }) => inspectImage(path, seed)),
  );
}

/** Returns the last image of the newest task that still has an image file. @throws UsageError */
export async function newestImage(session: ClientSession): Promise<FoundImages> {
  for await (const task of listedTasks({}, session, String)) {
    if (task === "elsewhere" || "unreadable" in task) continue;
    const lastFile = task.report.files.findLast(({ path }) => path !== null && existsSync(path));
    if (lastFile?.path) return findImages(lastFile.path, session);
  }
  throw new UsageError("No image file was found at the paths where imggen saved images.", {
    hint: "To see the tasks of this machine: imggen history",
  });
}

function withSettings(origin: ImageOrigin | null, files: FoundImage[]): FoundImages {
  const settings = origin === null ? {} : generatorFieldTexts({ ...origin.request, seed: undefined });
  return { origin, settings, files };
}

/** @throws UsageError unless the file is a complete image of a known type */
function inspectImage(path: string, seed: WholeNumber | undefined): FoundImage {
  try {
    const inspection = inspectFile(path);
    if (inspection.ok) return { path, image: inspection.image, seed: seed ?? null };
    const problem = inspection.problem === "incomplete" ? "incomplete" : "not an image that can be shown";
    throw new UsageError(`${path} is ${problem}: ${inspection.detail}.`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read: ${errorText(error)}.`, { cause: error });
  }
}
