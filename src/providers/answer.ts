import type { StoredReply } from "./reply-file.ts";

/** What a successful reply holds. */
export type Answer =
  /** `usage`: what the server says of cost and tokens, as it says it. */
  | { kind: "bytes"; bytes: Buffer; usage: unknown }
  /** Absolute, or relative to the server. */
  | { kind: "url"; url: string; usage: unknown }
  /** The server has answered, without an image. `body`: where its words may be. */
  | { kind: "none"; body: string }
  /** The reply ended before its image was whole. */
  | { kind: "cut" };

export type ReadAnswer = (reply: StoredReply) => Answer;

/** The bytes of an image in base64, or in a `data:` URL of it, which some servers send in the same field; null for none. */
export function base64Image(value: unknown): Buffer | null {
  if (typeof value !== "string") return null;
  const bytes = Buffer.from(value.replace(/^data:[^,]*,/, ""), "base64");
  return bytes.length === 0 ? null : bytes;
}
