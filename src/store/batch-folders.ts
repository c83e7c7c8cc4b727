import { createHash, randomBytes } from "node:crypto";
import { lstatSync } from "node:fs";
import path from "node:path";
import { makeFolder } from "../lib/durable.ts";
import { errorCode, errorText } from "../lib/error-text.ts";
import { UsageError } from "../lib/error-types.ts";
import { readPublished } from "../lib/publish.ts";
import { readField } from "../lib/read-file.ts";
import { createWhole, removeOldTemporaryFiles, replaceWhole, temporaryTarget } from "../lib/write-whole.ts";
import { UnreadableRecordError, usingStateFolder } from "./store-errors.ts";

/** The file with the folder's id in a batch's output folder, so that a moved folder is recognised. */
export const FOLDER_ID_FILE = ".imggen-batch";

/** 32 hexadecimal digits. */
const ID = /^[0-9a-f]{32}$/;

export function newFolderId(): string {
  return randomBytes(16).toString("hex");
}

/**
 * The id of a folder; null if it has none.
 * @throws UsageError if the file exists and is not an id: the folder may be a batch's; UnreadableRecordError if this
 * user may not read it
 */
export async function readFolderId(folder: string): Promise<string | null> {
  const file = path.join(folder, FOLDER_ID_FILE);
  try {
    // Not a pipe, which a read might wait for without end.
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
        "so the batch in this folder is not known",
        undefined,
        error,
      );
    throw error instanceof UsageError ? error : unreadableId(file, code ?? String(error));
  }
  throw unreadableId(file, "it holds no id");
}

/**
 * Gives a folder an id.
 * @param nowMs milliseconds since the epoch
 * @returns false if another process was first
 * @throws the disk's error
 */
export async function createFolderId(folder: string, id: string, nowMs: number): Promise<boolean> {
  await removeOldTemporaryFiles(folder, (name) => temporaryTarget(name) === FOLDER_ID_FILE, nowMs).catch(
    () => {},
  );
  // Readable for other users: a folder may be shared.
  return createWhole(path.join(folder, FOLDER_ID_FILE), `${id}\n`, 0o666);
}

function unreadableId(file: string, why: string): UsageError {
  return new UsageError(`${file} cannot be read (${why}), so the batch in this folder is not known.`, {
    hint: "Nothing was sent. Restore that file; if you remove it, the batch is known by the folder's path alone.",
  });
}

interface FolderRecord {
  /** The path that its batch's claims are named after: the first one known to the ledger. */
  origin: string;
  /** Whether other ledgers have submitted rows into it, unknown to this one. */
  isShared: boolean;
}

/**
 * The output folders of batches, which map ids to claims, so that a batch is found again after its folder was moved,
 * and by the folder's last path after its id was lost. One small file each, below the ledger.
 */
export class BatchFolders {
  readonly #folder: string;

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "folders");
  }

  /**
   * null: an id unknown to this ledger.
   * @throws StateFolderError
   */
  async byId(id: string): Promise<FolderRecord | null> {
    const origin = await this.#read(id);
    if (origin !== null) return { origin, isShared: false };
    const shared = await this.#read(`${id}.shared`);
    return shared === null ? null : { origin: shared, isShared: true };
  }

  /** The path that the folder's claims are named after: the folder's path itself, unless another is recorded. */
  async byPath(folder: string): Promise<string> {
    return (await this.#read(pathRecordName(folder))) ?? folder;
  }

  /**
   * Records an id durably, unless it has a record.
   * @throws StateFolderError
   */
  async recordId(id: string, { origin, isShared }: FolderRecord): Promise<void> {
    await usingStateFolder(this.#folder, "Nothing was sent.", async () => {
      await makeFolder(this.#folder, 0o700);
      await createWhole(path.join(this.#folder, isShared ? `${id}.shared` : id), text(origin), 0o600);
    });
  }

  /**
   * Records the present path of the folder whose claims are named after `origin`.
   * @throws StateFolderError
   */
  async recordPath(folder: string, origin: string): Promise<void> {
    if ((await this.byPath(folder)) === origin) return;
    await usingStateFolder(this.#folder, "Nothing was sent.", () =>
      replaceWhole(path.join(this.#folder, pathRecordName(folder)), text(origin), 0o600),
    );
  }

  async #read(name: string): Promise<string | null> {
    return usingStateFolder(this.#folder, "Nothing was sent.", async () =>
      readField(path.join(this.#folder, name), "folder"),
    );
  }
}

function pathRecordName(folder: string): string {
  return `${createHash("sha256").update(folder).digest("hex").slice(0, 32)}.path`;
}

/** As JSON, because a path may contain a line feed. */
function text(origin: string): string {
  return `${JSON.stringify({ folder: origin })}\n`;
}
