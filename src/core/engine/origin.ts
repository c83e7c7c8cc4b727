import { promises } from "node:fs";
import { UsageError } from "../../lib/error-types.ts";
import { nextSeed, type WholeNumber } from "../../lib/exact-integer.ts";
import { fileSha256 } from "../../lib/file-digest.ts";
import { action, phrase } from "../../lib/wording.ts";
import type { Ledger } from "../../store/ledger.ts";
import { type FreeProvider, getFreeProvider, SANDBOX_SERVICE } from "../../task/intent.ts";
import type { GenerationRequest } from "../../task/request.ts";
import { fileDigests, type SavedFile } from "../../task/saved-file.ts";
import { getSavedFiles, getTaskId, spentCredits, type Task } from "../../task/task.ts";
import { readSidecar } from "../images/sidecar.ts";

export interface ImageOrigin {
  taskId: string | null;
  request: GenerationRequest;
  /** Base URL of the service that charged the task. */
  service: string;
  credits: number | null;
  /** Reason why the task was free; null if it might have cost something. */
  free: FreeProvider | null;
  submittedAt: string | null;
  /**
   * Seed that reproduces the image. For a whole task: the seed of the first image, if each further image has the next
   * seed.
   */
  seed?: WholeNumber | undefined;
  record: Task | null;
}

/**
 * Finds the origin of an image in the ledger or in the image's sidecar.
 * @param sha256 digest of the image, in hex
 * @returns null if neither the ledger nor the sidecar has the digest
 */
export async function findOrigin(image: string, sha256: string, ledger: Ledger): Promise<ImageOrigin | null> {
  const record = await ledger.findByFile(sha256);
  if (record) return originOfTask(record, sha256);
  return originInSidecar(image, sha256);
}

/**
 * Reads the origin of an image from its sidecar.
 * @returns null if there is no sidecar, or the sidecar belongs to another image
 */
export async function originInSidecar(image: string, sha256: string): Promise<ImageOrigin | null> {
  const sidecar = await readSidecar(image);
  if (sidecar?.sha256 !== sha256) return null;
  const { taskId, request, service, credits, submittedAt, seed } = sidecar;
  const free = service === SANDBOX_SERVICE ? "sandbox" : null;
  return { taskId, request, service, credits, free, submittedAt, seed, record: null };
}

/**
 * Whether an argument is the id of a task. An id takes precedence over a file of the same name, which the user can give
 * as `./<name>`. An argument with a dot or a separator is never an id, so the ledger is not searched for it.
 */
export async function namesTask(name: string, ledger: Ledger): Promise<boolean> {
  return /^[^./\\]+$/.test(name) && (await ledger.find(name)) !== null;
}

/** @param sha256 digest of one image; null for all images of the task */
export function originOfTask(record: Task, sha256: string | null = null): ImageOrigin {
  const { request, service } = record.intent;
  const credits = spentCredits(record);
  const taskId = getTaskId(record);
  const { submittedAt } = record;
  const free = getFreeProvider(record.intent);
  const seed = sha256 === null ? firstSeed(record) : findFile(record, sha256)?.seed;
  return { taskId, request, service: service.baseUrl, credits, free, submittedAt, seed, record };
}

function findFile(record: Task, sha256: string): SavedFile | undefined {
  return getSavedFiles(record).find((file) => fileDigests(file).includes(sha256));
}

/** Seed of a task's first image, if each further request has the next seed. */
function firstSeed({ files, requests }: Task): WholeNumber | undefined {
  const first = files[0]?.seed;
  if (first === undefined) return undefined;
  const isNext = (file: SavedFile | null, at: number) => file === null || file.seed === nextSeed(first, at);
  return files.slice(0, requests.length).every(isNext) ? first : undefined;
}

/**
 * Finds the origin of the image in a file.
 * @param name id of a task or name of a file, as typed by the user
 * @param file `name` as an absolute path
 * @returns null if there is no such file, or `name` is the id of a task
 * @throws UsageError if neither the ledger nor a sidecar has the image
 */
export async function originOfFile(name: string, file: string, ledger: Ledger): Promise<ImageOrigin | null> {
  const isFile = (await promises.stat(file).catch(() => null))?.isFile() ?? false;
  if (!isFile || (await namesTask(name, ledger))) return null;
  const origin = await findOrigin(file, await readDigest(file), ledger);
  if (origin === null) throw unknownFile(name);
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

/**
 * Returns a reference URL from a sidecar, which omits the query of the URL. The request cannot be repeated, because the
 * query is missing.
 */
export function shortenedImage({ record, request }: ImageOrigin): string | undefined {
  return record === null ? [request.image ?? []].flat().find((url) => url.endsWith("?…")) : undefined;
}
