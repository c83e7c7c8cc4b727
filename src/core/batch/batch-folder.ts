import { errorText } from "../../lib/error-text.ts";
import { ImggenError, UsageError } from "../../lib/errors.ts";
import type { BatchFolders } from "../../store/batch-folders.ts";
import { createFolderId, newFolderId, readFolderId } from "../../store/folder-id.ts";
import { SaveFailedError } from "../errors.ts";

/** The batch that an output folder belongs to. */
export interface FoundBatch {
  /** The id that the folder shows; null where it shows none. */
  id: string | null;
  /** The path that the batch's claims go by: where this ledger first saw its folder. */
  origin: string;
  /** Whether other ledgers may have submitted rows into the folder, of which this one knows nothing. */
  isForeign: boolean;
  /** Whether this ledger knows the folder's id; true where it shows none. */
  isKnown: boolean;
}

/** Finds the batch of a folder: by its id, else by its path. Changes nothing. @param folder absolute, links resolved */
export async function findBatch(folder: string, folders: BatchFolders): Promise<FoundBatch> {
  const id = await readFolderId(folder);
  const known = id === null ? null : await folders.byId(id);
  const origin = known?.origin ?? (await folders.byPath(folder));
  const isKnown = id === null || known !== null;
  return { id, origin, isForeign: !isKnown || known?.isShared === true, isKnown };
}

export interface FolderDeps {
  folders: BatchFolders;
  /** Milliseconds since the epoch. */
  nowMs: number;
  /** Whether several ledgers share the folder on purpose. */
  isShard: boolean;
  /** Whether a folder that other ledgers know more of is to be this ledger's too. @throws what says no */
  agree: (found: FoundBatch) => Promise<boolean>;
}

/**
 * Makes sure that the folder of a batch is known by an id, before anything is submitted into it. The ledger knows
 * an id before the folder shows it: so whoever sees it there, in whatever process of this ledger, knows it too.
 * @param planned the batch that the rows were planned for
 * @throws SaveFailedError where the folder takes no file; UsageError where it is another batch's by now
 */
export async function identifyBatch(
  folder: string,
  planned: FoundBatch,
  { folders, nowMs, isShard, agree }: FolderDeps,
): Promise<void> {
  let found = await findBatch(folder, folders);
  if (found.id === null) {
    const id = newFolderId();
    // Of a batch that is sharded, other ledgers may do their shards in the same folder.
    await folders.recordId(id, { origin: planned.origin, isShared: isShard });
    await showId(folder, id, nowMs);
    // Another process may have been first: then its id is the folder's.
    found = await findBatch(folder, folders);
  }
  if (found.origin !== planned.origin) throw replaced(folder);
  if (found.id !== null && found.isForeign && (await agree(found)))
    await folders.recordId(found.id, { origin: planned.origin, isShared: isShard });
  await folders.recordPath(folder, planned.origin);
}

async function showId(folder: string, id: string, nowMs: number): Promise<void> {
  try {
    await createFolderId(folder, id, nowMs);
  } catch (error) {
    if (error instanceof ImggenError) throw error;
    throw new SaveFailedError(`Images cannot be written to ${folder}: ${errorText(error)}.`, {
      hint: "Nothing was sent. Choose another --output.",
      cause: error,
    });
  }
}

function replaced(folder: string): UsageError {
  return new UsageError(`${folder} was replaced by another batch's folder in this very moment.`, {
    hint: "Nothing was sent. Run the same command again.",
  });
}
