import { readFileSync } from "node:fs";
import { fieldsOf, isJsonObject } from "../lib/json.ts";
import type { Job } from "./provider.ts";

/** An image of a reply: its bytes, or its URL, absolute or relative to the server. */
export type ReplyImage = { bytes: Buffer } | { url: string };

/** Deeper levels are not read: a server may nest thousands. */
const MAX_DEPTH = 8;
const MAX_URL_LENGTH = 16_384;

/** Fields that hold one image in base64, or its address. An object has one image, although several of them may hold it. */
const IMAGE_FIELDS: readonly string[] = ["b64_json", "base64", "image_base64", "url"];

/**
 * Fields that are never a result: what the request held, the job's own addresses, smaller copies of an image, and words.
 * An image of a request must not be saved in place of the one that was paid for.
 */
const NOT_RESULT =
  /^(?:inputs?|request|params|parameters|arguments|.*prompt|urls|logs?|links?|metrics|timings|headers|web_?hook|errors?|details?|message|(?:input|reference|source|init|mask|control|original|thumb|thumbnail|preview|web_?hook)[_-].*|(?:thumb|thumbnail|preview)s?)$/i;
/** A job's own addresses, beside its result. */
const JOB_URL = /_ur[il]s?$/i;

/**
 * Finds the images in the part of a reply that is its result, at any depth: http(s) and `data:` URLs, and base64, which is
 * returned as a `data:` URL. Each once, in their order.
 */
export function findImageUrls(result: unknown): string[] {
  return [...new Set(findImages(result, MAX_DEPTH))];
}

/** As `imagesIn`, for a job's whole reply, whose result has no field of its own. */
export function findReplyImageUrls(reply: Readonly<Record<string, unknown>>): string[] {
  return findImageUrls(Object.fromEntries(Object.entries(reply).filter(([name]) => !JOB_URL.test(name))));
}

function findImages(value: unknown, depth: number): string[] {
  if (typeof value === "string") return isImage(value) ? [value] : imageInBase64(value);
  if (depth === 0) return [];
  if (Array.isArray(value)) return value.flatMap((each) => findImages(each, depth - 1));
  // xAI's mark of an image that was refused.
  if (!isJsonObject(value) || value.respect_moderation === false) return [];
  const ownImage = IMAGE_FIELDS.flatMap((name) => imageInField(name, value[name])).slice(0, 1);
  const others = Object.entries(value).filter(
    ([name, each]) => !NOT_RESULT.test(name) && !(typeof each === "string" && isOwnField(name, ownImage)),
  );
  return [...ownImage, ...others.flatMap(([, each]) => findImages(each, depth - 1))];
}

/** Whether a text beside an object's image is not searched: it is the same image in another form, or its name. */
function isOwnField(name: string, ownImage: readonly string[]): boolean {
  return ownImage.length > 0 || IMAGE_FIELDS.includes(name);
}

function imageInField(name: string, value: unknown): string[] {
  if (typeof value !== "string" || value.trim() === "") return [];
  if (isImage(value)) return [value];
  // Base64 of any type, which its bytes tell. A URL that is none of the web's is no image.
  return name !== "url" && /^[A-Za-z0-9+/_-]+=*\s*$/.test(value.slice(0, 100)) ? [asData(value)] : [];
}

function isImage(text: string): boolean {
  return /^data:(?!text\/)/i.test(text) || (text.length <= MAX_URL_LENGTH && /^https?:\/\/\S+$/i.test(text));
}

/** The beginnings of PNG, JPEG, WebP, GIF and AVIF in base64. */
const BASE64_IMAGE = /^(?:iVBORw0KGgo|\/9j\/|UklGR|R0lGOD|AAAA[A-Za-z0-9+/]{2}Z0eXBhdmlm)/;

function imageInBase64(text: string): string[] {
  return BASE64_IMAGE.test(text) ? [asData(text)] : [];
}

function asData(base64: string): string {
  return `data:application/octet-stream;base64,${base64}`;
}

/** The URLs of a job's result that its request did not hold: it may be repeated, and is no result. */
export function resultUrls(urls: readonly string[], reply: unknown, job: SentParts): string[] {
  const { request, options, references } = job;
  const { input, request: repeated } = fieldsOf(reply);
  const requestUrls = new Set(urlsInRequest([request, options.fields, references, input, repeated]));
  return urls.filter((url) => !requestUrls.has(url));
}

type SentParts = Pick<Job, "request" | "options" | "references">;

/** Every http(s) and `data:` URL in a request. */
function urlsInRequest(value: unknown, depth = MAX_DEPTH): string[] {
  if (typeof value === "string") return isImage(value) ? [value] : [];
  if (depth === 0 || typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((each) => urlsInRequest(each, depth - 1));
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

/** The images anywhere in the parts of a reply that servers name as its result, for a reply without one in its usual place. */
export function findOtherImages(reply: Readonly<Record<string, unknown>>, job: Job): ReplyImage[] {
  return resultImages(findImageUrls(RESULT_FIELDS.map((name) => reply[name])), reply, job);
}

/** The images at URLs, those of `data:` URLs as bytes. None that the job's request held: some servers repeat it. */
export function resultImages(urls: readonly string[], reply: unknown, job: SentParts): ReplyImage[] {
  const images = resultUrls(urls, reply, job).flatMap((url): ReplyImage[] =>
    isDataUrl(url) ? base64Images([url]) : [{ url }],
  );
  return images.filter((image) => "url" in image || !isReference(image.bytes, job));
}

function isReference(bytes: Buffer, { references }: Pick<Job, "references">): boolean {
  return references.some((reference) => {
    try {
      const referenceBytes = "url" in reference ? base64Image(reference.url) : readFileSync(reference.file);
      return referenceBytes?.equals(bytes) === true;
    } catch {
      return false;
    }
  });
}

/** Whether a URL holds the image itself. */
export function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}
