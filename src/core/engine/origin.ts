import { promises } from "node:fs";
import { UsageError } from "../../lib/error-types.ts";
import { nextSeed, type WholeNumber } from "../../lib/exact-integer.ts";
import { fileSha256 } from "../../lib/file-digest.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import { type FreeAt, freeAt, SANDBOX_SERVICE } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { fileDigests, type SavedFile } from "../../task/saved-file.ts";
import { getSavedFiles, getTaskId, spentCredits, type Task } from "../../task/task.ts";
import { readSidecar } from "../images/sidecar.ts";

/** Origin of an image. */
export interface ImageOrigin {
  taskId: string | null;
  request: GenerationRequest;
  /** Base URL of the service that its task was charged at. */
  service: string;
  credits: number | null;
  /** Reason why it is free; null if it may have cost something. */
  free: FreeAt | null;
  submittedAt: string | null;
  /** The seed that makes it again, if it is known: that of the image, or of a task's first image, if the others follow it. */
  seed?: WholeNumber | undefined;
  /** Its task; null where only the image's sidecar knows of it. */
  record: Task | null;
}

/**
 * Finds the origin of an image by its bytes: in the ledger, else in its sidecar. Null if neither has it.
 * @param sha256 of the image, in hex
 */
export async function findOrigin(image: string, sha256: string, ledger: Ledger): Promise<ImageOrigin | null> {
  const record = await ledger.findByFile(sha256);
  if (record) return originOfTask(record, sha256);
  return originInSidecar(image, sha256);
}

/** Origin of an image by its sidecar; null without one, or if it is another image's. */
export async function originInSidecar(image: string, sha256: string): Promise<ImageOrigin | null> {
  const sidecar = await readSidecar(image);
  if (sidecar?.sha256 !== sha256) return null;
  const { taskId, request, service, credits, submittedAt, seed } = sidecar;
  const free = service === SANDBOX_SERVICE ? "sandbox" : null;
  return { taskId, request, service, credits, free, submittedAt, seed, record: null };
}

/**
 * Whether a word is the id of a task, even where a file has that name: `./<name>` is the file then. A word with a dot or
 * a separator is a file's, so that no history is searched for one.
 */
export async function namesTask(what: string, ledger: Ledger): Promise<boolean> {
  return /^[^./\\]+$/.test(what) && (await ledger.find(what)) !== null;
}

/** @param sha256 of the image that is asked about; null for all of them */
export function originOfTask(record: Task, sha256: string | null = null): ImageOrigin {
  const { request, service } = record.intent;
  const credits = spentCredits(record);
  const taskId = getTaskId(record);
  const { submittedAt } = record;
  const free = freeAt(record.intent);
  const seed = sha256 === null ? firstSeed(record) : findFile(record, sha256)?.seed;
  return { taskId, request, service: service.baseUrl, credits, free, submittedAt, seed, record };
}

function findFile(record: Task, sha256: string): SavedFile | undefined {
  return getSavedFiles(record).find((file) => fileDigests(file).includes(sha256));
}

/** The seed of a task's first image, if those of its other requests follow it. */
function firstSeed({ files, requests }: Task): WholeNumber | undefined {
  const first = files[0]?.seed;
  if (first === undefined) return undefined;
  const isNext = (file: SavedFile | null, at: number) => file === null || file.seed === nextSeed(first, at);
  return files.slice(0, requests.length).every(isNext) ? first : undefined;
}

/**
 * Origin of the image in a file; null if there is no such file, or the word is a task's id.
 * @param file `what` as an absolute path
 * @throws UsageError if neither the ledger nor a sidecar knows it
 */
export async function originOfFile(what: string, file: string, ledger: Ledger): Promise<ImageOrigin | null> {
  const isFile = (await promises.stat(file).catch(() => null))?.isFile() ?? false;
  if (!isFile || (await namesTask(what, ledger))) return null;
  const origin = await findOrigin(file, await readDigest(file), ledger);
  if (origin === null) throw unknownFile(what);
  return origin;
}

async function readDigest(file: string): Promise<string> {
  try {
    return await fileSha256(file);
  } catch (error) {
    throw new UsageError(`${file} cannot be read.`, { cause: error });
  }
}

function unknownFile(file: string): UsageError {
  return new UsageError(
    `${file} is not an image that imggen saved on this machine or with a sidecar, or it was changed since.`,
    {
      hint: phrase`Nothing was sent. To find its task, whose id can be used instead: ${action("history")}`,
    },
  );
}

/** The reference URL that a sidecar has without its query, so that the request cannot be made again from it alone. */
export function shortenedImage({ record, request }: ImageOrigin): string | undefined {
  return record === null ? [request.image ?? []].flat().find((url) => url.endsWith("?…")) : undefined;
}
