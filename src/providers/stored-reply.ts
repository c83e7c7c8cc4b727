import { promises, readFileSync, renameSync, statSync } from "node:fs";
import path from "node:path";
import { decodeBody } from "../api/decode.ts";
import type { ReplyHeaders } from "../api/transport.ts";
import { isPresent, retryWhileInUse, syncFile, syncFolder } from "../lib/durable.ts";
import { errorText } from "../lib/error-text.ts";
import { fieldsOf, jsonOrNull } from "../lib/json.ts";
import { userId } from "../lib/processes.ts";
import { writeSynced } from "../lib/write-whole.ts";
import { runRequest, toClause } from "./failures.ts";
import { type Job, ProviderError, type SubmitReply, type UnknownReply } from "./provider.ts";
import { replyExcerpt } from "./reply-facts.ts";

/** Maximum size of a reply, in bytes: an image of 64 MiB in base64 and the JSON around it. */
export const MAX_REPLY_BYTES = 128 * 1024 * 1024;
const LINE_FEED = 10;

export interface StoredReply {
  status: number;
  headers: ReplyHeaders;
  body: Buffer;
  /** Reason why the body might be incomplete, as a clause; null if the body is complete. */
  cut: string | null;
}

export function defaultReplyFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "reply");
}

/** Returns the largest reply file, because a smaller file is incomplete. @throws the disk's error */
export function replyFile(job: Pick<Job, "folder" | "fallbackFiles">): string {
  const fallbacks = job.fallbackFiles ?? [];
  if (!fallbacks.some(isPresent)) return defaultReplyFile(job);
  let [largest, maxBytes] = [defaultReplyFile(job), fileSize(defaultReplyFile(job))];
  for (const file of fallbacks) {
    const bytes = fileSize(file);
    if (bytes > maxBytes) [largest, maxBytes] = [file, bytes];
  }
  return largest;
}

const ROOT_UID = 0;

/** Returns 0 for another user's file, because others can write false replies. @throws the disk's error */
function fileSize(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false });
  const uid = userId();
  const isOwn = uid === undefined || uid === ROOT_UID || stats?.uid === uid;
  return stats?.isFile() && isOwn ? stats.size : 0;
}

export function isSuccess({ status }: { status: number }): boolean {
  return status >= 200 && status < 300;
}

/** Parts of replies that could not be written to a disk, by path. Only this process has these bytes. */
export const unwrittenRests = new Map<string, Buffer>();

/**
 * Returns null if the file does not exist or its first line is incomplete.
 * @param cut default: a reason if the body's length differs from its Content-Length
 */
export async function readReplyFile(file: string, cut?: string | null): Promise<StoredReply | null> {
  if (!isPresent(file)) return null;
  const rest = unwrittenRests.get(file);
  const bytes = rest ? Buffer.concat([readFileSync(file), rest]) : readFileSync(file);
  const end = bytes.indexOf(LINE_FEED);
  if (end === -1) return null;
  const head = fieldsOf(jsonOrNull(bytes.toString("utf8", 0, end)));
  if (typeof head.status !== "number") return null;
  const headers = fieldsOf(head.headers) as ReplyHeaders;
  const rawBody = bytes.subarray(end + 1);
  const isComplete = headers["content-length"] === String(rawBody.length);
  return {
    status: head.status,
    headers,
    body: await decompress(rawBody, headers["content-encoding"]),
    cut: cut !== undefined ? cut : isComplete ? null : "the process ended while the reply arrived",
  };
}

/** @throws ProviderError (lost, with `isAskable`) if the reply cannot be read now but might be readable later */
export async function readStoredReply(job: Job, cut?: string | null): Promise<StoredReply | null> {
  const read = async () => readReplyFile(replyFile(job), cut);
  return read()
    .catch(read)
    .catch((cause: unknown) => {
      const message = `The stored reply cannot be read now: ${toClause(errorText(cause))}.`;
      throw new ProviderError(message, { kind: "lost", isAskable: true }, { cause });
    });
}

/** Decompresses a body, because some proxies compress every reply. Returns a damaged body unchanged. */
function decompress(body: Buffer, encoding: string | string[] | undefined): Promise<Buffer> {
  return decodeBody(body, encoding, { maxBytes: MAX_REPLY_BYTES, mayBeCut: true }).catch(() => body);
}

const MAX_EXCERPT_BYTES = 64 * 1024;

/** Like `runRequest`, but adds the reply's path if the outcome is unknown or the reply is in a fallback file. */
export async function runRequestWithReply<Reply extends SubmitReply | null>(
  job: Job,
  { mask }: { mask: (text: string) => string },
  work: (onSent: () => void) => Promise<Reply>,
  onSent?: () => void,
): Promise<Reply | SubmitReply> {
  const reply = await runRequest(work, onSent);
  if (reply?.outcome === "unknown") return { ...reply, ...(await findSavedReply(job, mask)) };
  if (reply?.outcome !== "made") return reply;
  const file = findReplyFile(job);
  return file === defaultReplyFile(job) ? reply : { ...reply, savedPath: file };
}

/** Returns the path from `replyFile`, or the default path after a disk error, which must not fail the job. */
function findReplyFile(job: Job): string {
  try {
    return replyFile(job);
  } catch {
    return defaultReplyFile(job);
  }
}

/** Never throws. */
async function findSavedReply(
  job: Job,
  mask: (text: string) => string,
): Promise<Pick<UnknownReply, "savedPath" | "excerpt">> {
  const file = findReplyFile(job);
  const { size } = await promises.stat(file).catch(() => ({ size: 0 }));
  if (size === 0) return { savedPath: null, excerpt: null };
  const stored = await readReplyFile(file).catch(() => null);
  const text = stored?.body.toString("utf8", 0, MAX_EXCERPT_BYTES) ?? "";
  return { savedPath: file, excerpt: replyExcerpt(text, mask) };
}

/** Path of the stored reply about a completed job. The reply contains the image as base64. */
export function resultFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "result");
}

/** Writes the body of a successful reply to a new file. @throws the disk's error */
export function writeReply(file: string, body: string): Promise<void> {
  const headers = { "content-length": String(Buffer.byteLength(body)) };
  return writeSynced(file, `${JSON.stringify({ status: 200, headers })}\n${body}`, 0o600);
}

/** Syncs a reply's file in the job's folder to disk, and renames it to `resultFile`. @throws the disk's error */
export async function storeResult(job: Pick<Job, "folder">, reply: string): Promise<void> {
  await syncFile(reply);
  await retryWhileInUse(() => renameSync(reply, resultFile(job)));
  await syncFolder(job.folder);
}
