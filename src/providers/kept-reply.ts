import { promises } from "node:fs";
import { settled } from "./failures.ts";
import type { Job, SubmitReply, UnknownReply } from "./provider.ts";
import { readReplyFile, replyFile } from "./reply-file.ts";
import { excerptOf } from "./service/excerpt.ts";

/** As `settled`. An unknown outcome names the kept reply, and has an excerpt of it. @param mask hides the key */
export async function settledWithReply<Reply extends SubmitReply | null>(
  job: Job,
  mask: (text: string) => string,
  work: (onSent: () => void) => Promise<Reply>,
  onSent?: () => void,
): Promise<Reply | SubmitReply> {
  const reply = await settled(work, onSent);
  return reply?.outcome === "unknown" ? { ...reply, ...(await keptReply(job, mask)) } : reply;
}

/** How much of a reply that could not be used is read for an excerpt. */
const MOST_EXCERPT_BYTES = 64 * 1024;

/** Never throws. */
async function keptReply(
  job: Job,
  mask: (text: string) => string,
): Promise<Pick<UnknownReply, "kept" | "excerpt">> {
  const file = replyFile(job);
  const isEmpty = await promises.stat(file).then(
    ({ size }) => size === 0,
    () => true,
  );
  if (isEmpty) return { kept: null, excerpt: null };
  const stored = await readReplyFile(file).catch(() => null);
  const text = stored?.body.toString("utf8", 0, MOST_EXCERPT_BYTES) ?? "";
  return { kept: file, excerpt: excerptOf(text, mask) };
}
