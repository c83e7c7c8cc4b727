import { readFileSync } from "node:fs";
import { imagesIn, urlsInJob } from "./found-images.ts";
import { isInline } from "./kept-result.ts";
import type { Job } from "./provider.ts";
import type { StoredReply } from "./reply-file.ts";

/** An image of a reply: its bytes, or its URL, absolute or relative to the server. */
export type ReplyImage = { bytes: Buffer } | { url: string };

/** What a successful reply holds. */
export type Answer =
  /** At least one image. `usage`: cost and tokens, as the server has them. */
  | { kind: "images"; images: readonly ReplyImage[]; usage: unknown }
  /** The reply has no image. `body` may have the server's words. */
  | { kind: "none"; body: string }
  /** The reply ended before its image was whole. */
  | { kind: "cut" };

export type ReadAnswer = (reply: StoredReply, job: Job) => Answer;

/** @param body may have the server's words, if there is no image */
export function answerOf(images: readonly ReplyImage[], usage: unknown, body: string): Answer {
  return images.length > 0 ? { kind: "images", images, usage } : { kind: "none", body };
}

/** The images that are in base64 among these values. */
export function base64Images(values: readonly unknown[]): ReplyImage[] {
  return values
    .map(base64Image)
    .filter((bytes) => bytes !== null)
    .map((bytes) => ({ bytes }));
}

/** The bytes of an image in base64, or in a `data:` URL of it, which some servers send in the same field; null for none. */
export function base64Image(value: unknown): Buffer | null {
  if (typeof value !== "string") return null;
  const bytes = Buffer.from(value.replace(/^data:[^,]*,/, ""), "base64");
  return bytes.length === 0 ? null : bytes;
}

/** Fields that servers name as the result of a request. */
const RESULT_FIELDS = ["data", "images", "image", "output", "outputs", "result", "results", "artifacts"];

/**
 * The images anywhere in what a reply names as its result, for a reply without one in its usual place. None that the
 * request held: some servers repeat it.
 */
export function imagesElsewhere(said: Readonly<Record<string, unknown>>, job: Job): ReplyImage[] {
  const urls = imagesIn(RESULT_FIELDS.map((name) => said[name]));
  const sent = urlsInJob(job);
  const images = urls.filter((url) => !sent.has(url)).flatMap(imageAt);
  return images.filter((image) => "url" in image || !isReference(image.bytes, job));
}

function imageAt(url: string): ReplyImage[] {
  return isInline(url) ? base64Images([url]) : [{ url }];
}

function isReference(bytes: Buffer, { references }: Job): boolean {
  return references.some((reference) => {
    try {
      const sent = "url" in reference ? base64Image(reference.url) : readFileSync(reference.file);
      return sent?.equals(bytes) === true;
    } catch {
      return false;
    }
  });
}
