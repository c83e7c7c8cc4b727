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

/** An image of 64 MiB in base64, and what is around it. */
export const MAX_REPLY_BYTES = 128 * 1024 * 1024;
const END_OF_LINE = 10;

/** A reply as it is on disk. */
export interface StoredReply {
  status: number;
  headers: ReplyHeaders;
  body: Buffer;
  /** Why the body may not be whole, as a clause; null for one that is. */
  cut: string | null;
}

/** File for the reply to a job's request. */
export function ownReplyFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "reply");
}

/**
 * Where the reply to a job's request is kept: in its folder, or at a fallback that has taken more of it.
 * @throws the disk's error
 */
export function replyFile(job: Pick<Job, "folder" | "fallbackFiles">): string {
  const fallbacks = job.fallbackFiles ?? [];
  if (!fallbacks.some(isPresent)) return ownReplyFile(job);
  let [largest, maxBytes] = [ownReplyFile(job), fileSize(ownReplyFile(job))];
  for (const file of fallbacks) {
    const bytes = fileSize(file);
    if (bytes > maxBytes) [largest, maxBytes] = [file, bytes];
  }
  return largest;
}

const ROOT = 0;

/** Size of a file of this user; 0 for any other: others may write to a shared folder. @throws the disk's error */
function fileSize(file: string): number {
  const stats = statSync(file, { throwIfNoEntry: false });
  const self = userId();
  const isOwn = self === undefined || self === ROOT || stats?.uid === self;
  return stats?.isFile() && isOwn ? stats.size : 0;
}

export function isSuccess({ status }: { status: number }): boolean {
  return status >= 200 && status < 300;
}

/** The ends of replies that could not be written to the disk, by the paths of their files. Only this process has them. */
export const untaken = new Map<string, Buffer>();

/**
 * The reply in a file; null if there is none, or not even its head is whole.
 * @param cut why it may not be whole; absent: as its Content-Length says
 */
export async function readReplyFile(file: string, cut?: string | null): Promise<StoredReply | null> {
  if (!isPresent(file)) return null;
  const rest = untaken.get(file);
  const bytes = rest ? Buffer.concat([readFileSync(file), rest]) : readFileSync(file);
  const end = bytes.indexOf(END_OF_LINE);
  if (end === -1) return null;
  const head = fieldsOf(jsonOrNull(bytes.toString("utf8", 0, end)));
  if (typeof head.status !== "number") return null;
  const headers = fieldsOf(head.headers) as ReplyHeaders;
  const raw = bytes.subarray(end + 1);
  const isCounted = headers["content-length"] === String(raw.length);
  return {
    status: head.status,
    headers,
    body: await unpacked(raw, headers["content-encoding"]),
    cut: cut !== undefined ? cut : isCounted ? null : "the process ended while it arrived",
  };
}

/**
 * The stored reply to a job's request. Only bytes that were read decide: a file that cannot be opened now leaves the job as it
 * is.
 * @param cut as of `readReplyFile`
 * @throws ProviderError (lost, askable) if it cannot be read
 */
export async function storedReply(job: Job, cut?: string | null): Promise<StoredReply | null> {
  const read = async () => readReplyFile(replyFile(job), cut);
  return read()
    .catch(read)
    .catch((cause: unknown) => {
      const message = `Its reply cannot be read now: ${toClause(errorText(cause))}.`;
      throw new ProviderError(message, { kind: "lost", isAskable: true }, { cause });
    });
}

/** None is asked for, but some proxies compress anyway. A body that cannot be decompressed stays as it is. */
function unpacked(body: Buffer, encoding: string | string[] | undefined): Promise<Buffer> {
  return decodeBody(body, encoding, { maxBytes: MAX_REPLY_BYTES, mayBeCut: true }).catch(() => body);
}

/** Maximum number of bytes read of an unusable reply for its excerpt. */
const MAX_EXCERPT_BYTES = 64 * 1024;

/** As `settled`. The outcome names the kept reply if it is unknown, or in a fallback's file. */
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
  return file === ownReplyFile(job) ? reply : { ...reply, savedPath: file };
}

/** As `replyFile`, but never throws: its images were read, so a disk that fails now must not end the job. */
function findReplyFile(job: Job): string {
  try {
    return replyFile(job);
  } catch {
    return ownReplyFile(job);
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

/** File of the reply about a finished job whose images are not all at URLs. */
export function resultFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "result");
}

/** Writes a whole reply of success to a file of its own. @throws the disk's error */
export function writeReply(file: string, body: string): Promise<void> {
  const headers = { "content-length": String(Buffer.byteLength(body)) };
  return writeSynced(file, `${JSON.stringify({ status: 200, headers })}\n${body}`, 0o600);
}

/** Makes a reply in a job's folder its result, which survives a power cut. @throws the disk's error */
export async function keepResult(job: Pick<Job, "folder">, reply: string): Promise<void> {
  await syncFile(reply);
  await retryWhileInUse(() => renameSync(reply, resultFile(job)));
  await syncFolder(job.folder);
}
