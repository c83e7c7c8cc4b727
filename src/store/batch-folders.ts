import { createHash, randomBytes } from "node:crypto";
import { lstatSync } from "node:fs";
import path from "node:path";
import { makeFolder } from "../lib/durable.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { readPublished } from "../lib/publish.ts";
import { readField } from "../lib/read-file.ts";
import {
  createAtomically,
  removeOldTemporaryFiles,
  replaceAtomically,
  temporaryTarget,
} from "../lib/write-whole.ts";
import { UnreadableRecordError, withStateFolderErrors } from "./store-errors.ts";

/** File in a batch's output folder that contains the folder's id, so that the batch is found after a move. */
export const FOLDER_ID_FILE = ".imggen-batch";

const ID = /^[0-9a-f]{32}$/;

export function newFolderId(): string {
  return randomBytes(16).toString("hex");
}

/**
 * Reads the id of a folder, if any.
 * @throws UnreadableRecordError; UsageError for an invalid id file, because the folder might belong to a batch
 */
export async function readFolderId(folder: string): Promise<string | null> {
  const file = path.join(folder, FOLDER_ID_FILE);
  try {
    if (!lstatSync(file).isFile()) throw unreadableId(file, "it is not a regular file");
    const text = await readPublished(file, (text) => text.endsWith("\n"));
    if (ID.test(text.trimEnd())) return text.trimEnd();
  } catch (error) {
    const code = errorCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") return null;
    if (code === "EACCES" || code === "EPERM")
      throw new UnreadableRecordError(
        file,
        errorText(error),
        "so the batch of this folder is unknown",
        undefined,
        error,
      );
    throw error instanceof UsageError ? error : unreadableId(file, code ?? String(error));
  }
  throw unreadableId(file, "it does not contain an id");
}

/** @returns false if another process has already created an id @throws the disk's error */
export async function createFolderId(folder: string, id: string, nowMs: number): Promise<boolean> {
  await removeOldTemporaryFiles(folder, (name) => temporaryTarget(name) === FOLDER_ID_FILE, nowMs).catch(
    () => {},
  );
  // The id is readable for other users, because they might run the same batch in a shared folder.
  return createAtomically(path.join(folder, FOLDER_ID_FILE), `${id}\n`, 0o666);
}

function unreadableId(file: string, why: string): UsageError {
  return new UsageError(`${file} cannot be read (${why}), so the batch of this folder is unknown.`, {
    hint: "Nothing was sent. Restore the file; without it, imggen finds the batch only by the folder's path.",
  });
}

interface FolderRecord {
  /** First path of the folder in this ledger. The id of the batch's claims is derived from this path. */
  origin: string;
  /** Whether rows were submitted from other ledgers, so that this ledger does not contain all tasks of the batch. */
  isShared: boolean;
}

/** Records output folders of batches by id and by last path, to find moved folders and folders without an id. */
export class BatchFolders {
  readonly #folder: string;

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "folders");
  }

  /** Returns null for an unknown id. @throws StateFolderError */
  async findById(id: string): Promise<FolderRecord | null> {
    const origin = await this.#read(id);
    if (origin !== null) return { origin, isShared: false };
    const shared = await this.#read(`${id}.shared`);
    return shared === null ? null : { origin: shared, isShared: true };
  }

  async findByPath(folder: string): Promise<string> {
    return (await this.#read(pathRecordName(folder))) ?? folder;
  }

  /** Records an id durably, unless it is already recorded. @throws StateFolderError */
  async recordId(id: string, { origin, isShared }: FolderRecord): Promise<void> {
    await withStateFolderErrors(this.#folder, "Nothing was sent.", async () => {
      await makeFolder(this.#folder, 0o700);
      await createAtomically(
        path.join(this.#folder, isShared ? `${id}.shared` : id),
        formatRecord(origin),
        0o600,
      );
    });
  }

  async recordPath(folder: string, origin: string): Promise<void> {
    if ((await this.findByPath(folder)) === origin) return;
    await withStateFolderErrors(this.#folder, "Nothing was sent.", () =>
      replaceAtomically(path.join(this.#folder, pathRecordName(folder)), formatRecord(origin), 0o600),
    );
  }

  async #read(name: string): Promise<string | null> {
    return withStateFolderErrors(this.#folder, "Nothing was sent.", async () =>
      readField(path.join(this.#folder, name), "folder"),
    );
  }
}

function pathRecordName(folder: string): string {
  return `${createHash("sha256").update(folder).digest("hex").slice(0, 32)}.path`;
}

/** Formats the record as JSON, because a path can contain a line feed. */
function formatRecord(origin: string): string {
  return `${JSON.stringify({ folder: origin })}\n`;
}
