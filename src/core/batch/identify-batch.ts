import { createHash } from "node:crypto";
import { errorText } from "../../lib/error-text.ts";
import { ImggenError, UsageError } from "../../lib/error-types.ts";
import { action, phrase } from "../../lib/wording.ts";
import { type BatchFolders, createFolderId, newFolderId, readFolderId } from "../../store/batch-folders.ts";
import { SaveFailedError } from "../errors.ts";
import { CHOOSE_ANOTHER } from "../images/destination.ts";

export interface FolderBatch {
  /** Id in the folder, or null. */
  id: string | null;
  /** Path at which this ledger first found the folder. It never changes, because the batch id is derived from it. */
  origin: string;
  /** Whether other ledgers might have submitted rows into the folder. */
  isForeign: boolean;
  /** Whether the folder has no id, or its id is in this ledger. */
  isKnown: boolean;
}

/** Finds the batch of a folder by its id, otherwise by its path. @param folder absolute path without symbolic links */
export async function findBatch(folder: string, folders: BatchFolders): Promise<FolderBatch> {
  const id = await readFolderId(folder);
  const record = id === null ? null : await folders.findById(id);
  const origin = record?.origin ?? (await folders.findByPath(folder));
  const isKnown = id === null || record !== null;
  return { id, origin, isForeign: !isKnown || record?.isShared === true, isKnown };
}

/**
 * Batch id, derived from service and folder. A renamed or reordered manifest therefore resumes the same batch.
 * @param origin path at which the ledger first found the folder
 */
export function batchId(baseUrl: string, origin: string): string {
  return createHash("sha256").update(`${baseUrl}\0${origin}`).digest("hex").slice(0, 16);
}

export interface FolderDeps {
  folders: BatchFolders;
  nowMs: number;
  /** Whether this run is a shard, so that several ledgers share the folder on purpose. */
  isShard: boolean;
  /** Asks the user to confirm a folder that other ledgers might have used. @throws if the user declines */
  agree: (batch: FolderBatch) => Promise<boolean>;
}

/**
 * Writes an id into the folder of a batch before the first submit. The ledger records the id first, so that an id in
 * the folder is always in the ledger too.
 * @throws SaveFailedError if no file can be created in the folder; UsageError if another batch now uses the folder
 */
export async function identifyBatch(
  folder: string,
  planned: FolderBatch,
  { folders, nowMs, isShard, agree }: FolderDeps,
): Promise<void> {
  let foundBatch = await findBatch(folder, folders);
  if (foundBatch.id === null) {
    const id = newFolderId();
    // Shards of a batch have the same folder, so other ledgers might submit rows into it too.
    await folders.recordId(id, { origin: planned.origin, isShared: isShard });
    await writeFolderId(folder, id, nowMs);
    // The id in the folder is read again, because another process might have written its id first.
    foundBatch = await findBatch(folder, folders);
  }
  if (foundBatch.origin !== planned.origin) throw folderReplacedError(folder);
  if (foundBatch.id !== null && foundBatch.isForeign && (await agree(foundBatch)))
    await folders.recordId(foundBatch.id, { origin: planned.origin, isShared: isShard });
  await folders.recordPath(folder, planned.origin);
}

async function writeFolderId(folder: string, id: string, nowMs: number): Promise<void> {
  try {
    await createFolderId(folder, id, nowMs);
  } catch (error) {
    if (error instanceof ImggenError) throw error;
    throw new SaveFailedError(`Images cannot be written to ${folder}: ${errorText(error)}.`, {
      hint: CHOOSE_ANOTHER,
      cause: error,
    });
  }
}

function folderReplacedError(folder: string): UsageError {
  return new UsageError(`${folder} was just replaced by another batch's folder.`, {
    hint: ["Nothing was sent.", phrase`${action("repeat")}.`],
  });
}
