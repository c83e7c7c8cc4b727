import { readFileSync } from "node:fs";
import { fieldsOf, isJsonObject } from "../lib/json.ts";
import type { Job } from "./provider.ts";

/** An image in a reply: its bytes, or a URL that is absolute or relative to the server. */
export type ReplyImage = { bytes: Buffer } | { url: string };

/** Maximum depth of a search, because a reply might nest thousands of levels. */
const MAX_DEPTH = 8;
const MAX_URL_LENGTH = 16_384;

/** Fields that contain an image as base64 or as a URL. All these fields of one object contain the same image. */
const IMAGE_FIELDS: readonly string[] = ["b64_json", "base64", "image_base64", "url"];

/** Fields that are not searched, because an input image or a preview must not be saved in place of the paid image. */
const IGNORED_FIELD =
  /^(?:inputs?|request|params|parameters|arguments|.*prompt|urls|logs?|links?|metrics|timings|headers|web_?hook|errors?|details?|message|(?:input|reference|source|init|mask|control|original|thumb|thumbnail|preview|web_?hook)[_-].*|(?:thumb|thumbnail|preview)s?)$/i;
/** Fields with addresses of the job, such as `status_url`. */
const JOB_URL_FIELD = /_ur[il]s?$/i;

/** Returns all image URLs, without duplicates. Base64 is returned as `data:` URLs. */
export function findImageUrls(result: unknown): string[] {
  return [...new Set(findImages(result, MAX_DEPTH))];
}

/** Returns the image URLs of a reply that has no separate field for the result. */
export function findReplyImageUrls(reply: Readonly<Record<string, unknown>>): string[] {
  return findImageUrls(
    Object.fromEntries(Object.entries(reply).filter(([name]) => !JOB_URL_FIELD.test(name))),
  );
}

function findImages(value: unknown, depth: number): string[] {
  if (typeof value === "string") return isImage(value) ? [value] : detectBase64Image(value);
  if (depth === 0) return [];
  if (Array.isArray(value)) return value.flatMap((entry) => findImages(entry, depth - 1));
  // In a reply of xAI, `respect_moderation` is false for a refused image.
  if (!isJsonObject(value) || value.respect_moderation === false) return [];
  const fieldImage = IMAGE_FIELDS.flatMap((name) => parseImageField(name, value[name])).slice(0, 1);
  const nestedFields = Object.entries(value).filter(
    ([name, entry]) =>
      !IGNORED_FIELD.test(name) && !(typeof entry === "string" && isSearchUnnecessary(name, fieldImage)),
  );
  return [...fieldImage, ...nestedFields.flatMap(([, entry]) => findImages(entry, depth - 1))];
}

/** Whether a text was already parsed, or its object already has an image. */
function isSearchUnnecessary(name: string, fieldImage: readonly string[]): boolean {
  return fieldImage.length > 0 || IMAGE_FIELDS.includes(name);
}

function parseImageField(name: string, value: unknown): string[] {
  if (typeof value !== "string" || value.trim() === "") return [];
  if (isImage(value)) return [value];
  // Base64 is accepted in all fields except `url`. Its media type is detected later, from the bytes.
  return name !== "url" && /^[A-Za-z0-9+/_-]+=*\s*$/.test(value.slice(0, 100)) ? [toDataUrl(value)] : [];
}

function isImage(text: string): boolean {
  return /^data:(?!text\/)/i.test(text) || (text.length <= MAX_URL_LENGTH && /^https?:\/\/\S+$/i.test(text));
}

/** Matches the start of a PNG, JPEG, WebP, GIF or AVIF file in base64. */
const BASE64_IMAGE = /^(?:iVBORw0KGgo|\/9j\/|UklGR|R0lGOD|AAAA[A-Za-z0-9+/]{2}Z0eXBhdmlm)/;

function detectBase64Image(text: string): string[] {
  return BASE64_IMAGE.test(text) ? [toDataUrl(text)] : [];
}

function toDataUrl(base64: string): string {
  return `data:application/octet-stream;base64,${base64}`;
}

/** Removes the URLs of the request, because some replies repeat the request. */
export function removeRequestUrls(urls: readonly string[], reply: unknown, job: RequestParts): string[] {
  const { request, options, references } = job;
  const { input, request: repeatedRequest } = fieldsOf(reply);
  const requestUrls = new Set(findRequestUrls([request, options.fields, references, input, repeatedRequest]));
  return urls.filter((url) => !requestUrls.has(url));
}

type RequestParts = Pick<Job, "request" | "options" | "references">;

function findRequestUrls(value: unknown, depth = MAX_DEPTH): string[] {
  if (typeof value === "string") return isImage(value) ? [value] : [];
  if (depth === 0 || typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap((entry) => findRequestUrls(entry, depth - 1));
}

export function decodeImages(values: readonly unknown[]): ReplyImage[] {
  return values
    .map(decodeImage)
    .filter((bytes) => bytes !== null)
    .map((bytes) => ({ bytes }));
}

/** Decodes base64 or a `data:` URL, because some servers use one field for both. */
export function decodeImage(value: unknown): Buffer | null {
  if (typeof value !== "string") return null;
  const bytes = Buffer.from(value.replace(/^data:[^,]*,/, ""), "base64");
  return bytes.length === 0 ? null : bytes;
}

const RESULT_FIELDS = ["data", "images", "image", "output", "outputs", "result", "results", "artifacts"];

/** Searches common result fields of a reply without an image in the expected field. */
export function findOtherImages(reply: Readonly<Record<string, unknown>>, job: Job): ReplyImage[] {
  return resultImages(findImageUrls(RESULT_FIELDS.map((name) => reply[name])), reply, job);
}

/** Decodes `data:` URLs, and removes images of the request. */
export function resultImages(urls: readonly string[], reply: unknown, job: RequestParts): ReplyImage[] {
  const images = removeRequestUrls(urls, reply, job).flatMap((url): ReplyImage[] =>
    isDataUrl(url) ? decodeImages([url]) : [{ url }],
  );
  return images.filter((image) => "url" in image || !isReference(image.bytes, job));
}

function isReference(bytes: Buffer, { references }: Pick<Job, "references">): boolean {
  return references.some((reference) => {
    try {
      const referenceBytes = "url" in reference ? decodeImage(reference.url) : readFileSync(reference.file);
      return referenceBytes?.equals(bytes) === true;
    } catch {
      return false;
    }
  });
}

export function isDataUrl(url: string): boolean {
  return /^data:/i.test(url);
}
