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
  /** Seed that reproduces the image. For a task: seed of the first image, if each further image has the next seed. */
  seed?: WholeNumber | undefined;
  record: Task | null;
}

/** Finds the origin of an image in the ledger or its sidecar, or null. @param sha256 digest of the image, in hex */
export async function findOrigin(image: string, sha256: string, ledger: Ledger): Promise<ImageOrigin | null> {
  const record = await ledger.findByFile(sha256);
  if (record) return originOfTask(record, sha256);
  return originInSidecar(image, sha256);
}

/** Returns null if there is no sidecar, or if the sidecar belongs to another image. */
export async function originInSidecar(image: string, sha256: string): Promise<ImageOrigin | null> {
  const sidecar = await readSidecar(image);
  if (sidecar?.sha256 !== sha256) return null;
  const { taskId, request, service, credits, submittedAt, seed } = sidecar;
  const free = service === SANDBOX_SERVICE ? "sandbox" : null;
  return { taskId, request, service, credits, free, submittedAt, seed, record: null };
}

/**
 * Whether an argument is the id of a task, which takes precedence over a file of that name. An argument with a dot or a
 * separator, as in `./<name>`, is never an id.
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
 * Finds the origin of the image in a file. Returns null if there is no such file, or if `name` is the id of a task.
 * @param file `name` as an absolute path
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
    `No task is known for ${file}: either imggen did not save this image on this machine and it has no sidecar, or the file was changed.`,
    {
      hint: phrase`Nothing was sent. Use a task id instead. To find it: ${action("history")}`,
    },
  );
}

/** Returns a reference URL that has lost its query in the sidecar. The request cannot be repeated without the query. */
export function shortenedImage({ record, request }: ImageOrigin): string | undefined {
  return record === null ? [request.image ?? []].flat().find((url) => url.endsWith("?…")) : undefined;
}
