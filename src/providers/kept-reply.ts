import { promises } from "node:fs";
import { errorText } from "../lib/error-text.ts";
import { clauseOf, settled } from "./failures.ts";
import { type Job, ProviderError, type SubmitReply, type UnknownReply } from "./provider.ts";
import { ownReplyFile, readReplyFile, replyFile, type StoredReply } from "./reply-file.ts";
import { excerptOf } from "./service/excerpt.ts";

/** As `settled`. The outcome names the kept reply if it is unknown, or in a fallback's file. @param mask hides the key */
export async function settledWithReply<Reply extends SubmitReply | null>(
  job: Job,
  mask: (text: string) => string,
  work: (onSent: () => void) => Promise<Reply>,
  onSent?: () => void,
): Promise<Reply | SubmitReply> {
  const reply = await settled(work, onSent);
  if (reply?.outcome === "unknown") return { ...reply, ...(await keptReply(job, mask)) };
  if (reply?.outcome !== "made") return reply;
  const file = replyFile(job);
  return file === ownReplyFile(job) ? reply : { ...reply, kept: file };
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
      const message = `Its reply cannot be read now: ${clauseOf(errorText(cause))}.`;
      throw new ProviderError(message, { kind: "lost", isAskable: true }, { cause });
    });
}

/** How much of a reply that could not be used is read for an excerpt. */
const MOST_EXCERPT_BYTES = 64 * 1024;

/** Never throws. */
async function keptReply(
  job: Job,
  mask: (text: string) => string,
): Promise<Pick<UnknownReply, "kept" | "excerpt">> {
  const file = await Promise.resolve(job)
    .then(replyFile)
    .catch(() => ownReplyFile(job));
  const isEmpty = await promises.stat(file).then(
    ({ size }) => size === 0,
    () => true,
  );
  if (isEmpty) return { kept: null, excerpt: null };
  const stored = await readReplyFile(file).catch(() => null);
  const text = stored?.body.toString("utf8", 0, MOST_EXCERPT_BYTES) ?? "";
  return { kept: file, excerpt: excerptOf(text, mask) };
}
