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

/** The file in a batch's output folder that holds the folder's id, so that a folder that was moved is known again. */
export const FOLDER_ID_FILE = ".imggen-batch";

/** 32 hexadecimal digits. */
const ID = /^[0-9a-f]{32}$/;

/** An id that no other folder has. */
export function newFolderId(): string {
  return randomBytes(16).toString("hex");
}

/**
 * The id in a folder; null if it has none.
 * @throws UsageError if the file exists and is not an id, because then it is not known whether the folder is a batch's;
 * UnreadableRecordError if this user may not read it
 */
export async function readFolderId(folder: string): Promise<string | null> {
  const file = path.join(folder, FOLDER_ID_FILE);
  try {
    // Only a regular file can be an id: reading a pipe would never end.
    if (!lstatSync(file).isFile()) throw damaged(file, "it is not a regular file");
    const text = await readPublished(file, (read) => read.endsWith("\n"));
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
    throw error instanceof UsageError ? error : damaged(file, code ?? String(error));
  }
  throw damaged(file, "it holds no id");
}

/**
 * Gives a folder an id.
 * @param nowMs milliseconds since the epoch
 * @returns whether it has this id now; false if another process was first
 * @throws the disk's error
 */
export async function createFolderId(folder: string, id: string, nowMs: number): Promise<boolean> {
  await removeOldTemporaryFiles(folder, (name) => temporaryTarget(name) === FOLDER_ID_FILE, nowMs).catch(
    () => {},
  );
  // For others to read too: a folder may be shared.
  return createWhole(path.join(folder, FOLDER_ID_FILE), `${id}\n`, 0o666);
}

function damaged(file: string, why: string): UsageError {
  return new UsageError(`${file} cannot be read (${why}), so the batch in this folder is not known.`, {
    hint: "Nothing was sent. Restore that file; if you remove it, the batch is known by the folder's path alone.",
  });
}

/** What the ledger knows of a folder by its id. */
interface KnownFolder {
  /** The path that its batch's claims are named after: where the ledger first saw it. */
  origin: string;
  /** Whether other ledgers have submitted rows into it that this one does not know. */
  isShared: boolean;
}

/**
 * The output folders of batches: which id belongs to which claims, so that a batch is found again when its folder
 * is moved, and by the folder's last path when its id is gone. One small file each, below the ledger.
 */
export class BatchFolders {
  readonly #folder: string;

  constructor(ledgerFolder: string) {
    this.#folder = path.join(ledgerFolder, "folders");
  }

  /** What is known of an id; null if this ledger has never seen it. @throws StateFolderError */
  async byId(id: string): Promise<KnownFolder | null> {
    const origin = await this.#read(id);
    if (origin !== null) return { origin, isShared: false };
    const shared = await this.#read(`${id}.shared`);
    return shared === null ? null : { origin: shared, isShared: true };
  }

  /** The path that the claims of the folder at a path are named after: its own, unless another one is recorded. */
  async byPath(folder: string): Promise<string> {
    return (await this.#read(pathName(folder))) ?? folder;
  }

  /** Records an id durably. An existing record is kept. @throws StateFolderError */
  async recordId(id: string, { origin, isShared }: KnownFolder): Promise<void> {
    await usingStateFolder(this.#folder, "Nothing was sent.", async () => {
      await makeFolder(this.#folder, 0o700);
      await createWhole(path.join(this.#folder, isShared ? `${id}.shared` : id), text(origin), 0o600);
    });
  }

  /** Records that the folder whose claims are named after `origin` is at this path now. @throws StateFolderError */
  async recordPath(folder: string, origin: string): Promise<void> {
    if ((await this.byPath(folder)) === origin) return;
    await usingStateFolder(this.#folder, "Nothing was sent.", () =>
      replaceWhole(path.join(this.#folder, pathName(folder)), text(origin), 0o600),
    );
  }

  async #read(name: string): Promise<string | null> {
    return usingStateFolder(this.#folder, "Nothing was sent.", async () =>
      readField(path.join(this.#folder, name), "folder"),
    );
  }
}

function pathName(folder: string): string {
  return `${createHash("sha256").update(folder).digest("hex").slice(0, 32)}.path`;
}

/** A path may hold a line feed: as JSON it is one line. */
function text(origin: string): string {
  return `${JSON.stringify({ folder: origin })}\n`;
}
