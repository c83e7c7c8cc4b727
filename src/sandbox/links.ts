import { createHmac, timingSafeEqual } from "node:crypto";

/** What a signed URL leads to, and until when it is valid. */
export interface Link {
  taskId: string;
  /** Which of the task's images, from 0. */
  index: number;
  /** Of the image's type, without the dot. */
  extension: string;
  /** Seconds since the epoch. */
  expires: number;
}

/** A signed URL below a server's origin. It needs no other credentials. */
export function imageUrl(origin: string, link: Link, secret: string): string {
  const query = new URLSearchParams({ expires: String(link.expires), signature: sign(link, secret) });
  return `${origin}/files/${link.taskId}/${link.index}.${link.extension}?${query}`;
}

/** Reads the signed URL of a request for a file; null if this sandbox never returned it. */
export function readImageUrl(
  taskId: string,
  name: string,
  query: URLSearchParams,
  secret: string,
): Link | null {
  const [, index, extension] = /^(\d{1,2})\.([a-z0-9]{3,4})$/.exec(name) ?? [];
  const expires = /^\d{1,15}$/.exec(query.get("expires") ?? "")?.[0];
  if (index === undefined || extension === undefined || expires === undefined) return null;
  const link = { taskId, index: Number(index), extension, expires: Number(expires) };
  return isSameText(query.get("signature") ?? "", sign(link, secret)) ? link : null;
}

function sign({ taskId, index, extension, expires }: Link, secret: string): string {
  return createHmac("sha256", secret).update(`${taskId}/${index}.${extension}/${expires}`).digest("hex");
}

/** Whether two texts are the same, in a time that does not tell how much of them is. */
export function isSameText(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
