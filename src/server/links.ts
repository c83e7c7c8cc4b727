import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { errorCode } from "../lib/error-text.ts";
import { readPublished } from "../lib/publish.ts";
import { createAtomically } from "../lib/write-whole.ts";
import { type ServerReply, unknownError } from "./reply.ts";

export interface Link {
  taskId: string;
  index: number;
  /** File name extension, without the dot. */
  extension: string;
  /** Seconds since the epoch. */
  expires: number;
}

export const LINK_SECONDS = 3600;

/** Returns the result of a task (section 2.3): the signed URL of a single image, or an array of URLs. */
export function resultUrl(
  { origin, secret }: { origin: string; secret: string },
  { taskId, expires }: Pick<Link, "taskId" | "expires">,
  extensions: readonly string[],
): string | string[] {
  const urls = extensions.map((extension, index) =>
    imageUrl(origin, { taskId, index, extension, expires }, secret),
  );
  return urls.length === 1 ? urls.join() : urls;
}

function imageUrl(origin: string, link: Link, secret: string): string {
  const query = new URLSearchParams({ expires: String(link.expires), signature: sign(link, secret) });
  return `${origin}/files/${link.taskId}/${link.index}.${link.extension}?${query}`;
}

export interface FileAddress {
  taskId: string;
  name: string;
  query: URLSearchParams;
}

export function verifyLink(
  { taskId, name, query }: FileAddress,
  secret: string,
  nowMs: number,
): Link | { refused: ServerReply } {
  const [, index, extension = ""] = /^(\d{1,2})\.([a-z0-9]{3,4})$/.exec(name) ?? [];
  const [expires] = /^\d{1,15}$/.exec(query.get("expires") ?? "") ?? [];
  const link = { taskId, index: Number(index), extension, expires: Number(expires) };
  if (!isSameText(query.get("signature") ?? "", sign(link, secret)))
    return { refused: unknownError("wrong signature", { status: 403 }) };
  if (nowMs >= link.expires * 1000) return { refused: unknownError("expired", { status: 403 }) };
  return link;
}

function sign({ taskId, index, extension, expires }: Link, secret: string): string {
  return createHmac("sha256", secret).update(`${taskId}/${index}.${extension}/${expires}`).digest("hex");
}

/** Compares two texts in constant time, so that an attacker learns nothing from the duration. */
export function isSameText(text: string, expected: string): boolean {
  const [a, b] = [Buffer.from(text), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

const SECRET_DIGITS = 64;

/** Creates the file if it is missing. All processes get the same secret. */
export async function loadSecret(file: string, prefix = ""): Promise<string> {
  try {
    return await readPublished(file, (text) => text.length >= prefix.length + SECRET_DIGITS);
  } catch (error) {
    if (errorCode(error) !== "ENOENT") throw error;
  }
  await createAtomically(file, prefix + randomBytes(SECRET_DIGITS / 2).toString("hex"), 0o600);
  return loadSecret(file, prefix);
}
