import { createHmac, timingSafeEqual } from "node:crypto";

/** What a signed URL leads to, and until when it is valid. */
export interface Link {
  taskId: string;
  /** Which of the task's images, from 0. */
  index: number;
  /** Seconds since the epoch. */
  expires: number;
}

/** A signed URL below a server's origin. It needs no other credentials. */
export function imageUrl(origin: string, link: Link, secret: string): string {
  const query = new URLSearchParams({ expires: String(link.expires), signature: sign(link, secret) });
  return `${origin}/files/${link.taskId}/${link.index}.png?${query}`;
}

/** Reads the signed URL of a request for a file; null if this sandbox never returned it. */
export function readImageUrl(
  taskId: string,
  name: string,
  query: URLSearchParams,
  secret: string,
): Link | null {
  const index = /^(\d{1,2})\.png$/.exec(name)?.[1];
  const expires = /^\d{1,15}$/.exec(query.get("expires") ?? "")?.[0];
  if (index === undefined || expires === undefined) return null;
  const link = { taskId, index: Number(index), expires: Number(expires) };
  return isSame(query.get("signature") ?? "", sign(link, secret)) ? link : null;
}

function sign({ taskId, index, expires }: Link, secret: string): string {
  return createHmac("sha256", secret).update(`${taskId}/${index}/${expires}`).digest("hex");
}

function isSame(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}
