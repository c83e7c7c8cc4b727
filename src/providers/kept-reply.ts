import { promises } from "node:fs";
import type { Job, UnknownReply } from "./provider.ts";
import { readReplyFile, replyFile } from "./reply-file.ts";
import { excerptOf } from "./service/excerpt.ts";

/** Bytes of a reply that could not be used: enough for an excerpt. */
const MOST_EXCERPT_BYTES = 64 * 1024;

/** What is kept of the reply to a request of unknown fate. Never throws. @param mask hides the key */
export async function keptReply(
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
