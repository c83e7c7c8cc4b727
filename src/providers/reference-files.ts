import { createReadStream } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { guardedLookup } from "../api/address.ts";
import { HttpClient } from "../api/http-client.ts";
import { downloadImageFile } from "../api/image-download.ts";
import { TRANSFER_POLICY } from "../api/retry.ts";
import { giveToOwnerOfFolder } from "../lib/disk-file.ts";
import { errorText } from "../lib/error-text.ts";
import { type ImageInfo, inspectFile } from "../lib/image/inspect.ts";
import { redactUrl } from "../lib/redact.ts";
import type { ProviderDeps } from "./kind.ts";
import { Base64File } from "./post-body.ts";
import { type Job, ProviderError, type Reference, TimeLimitError, unsendable } from "./provider.ts";

export interface ReferenceDeps extends Pick<ProviderDeps, "proxies" | "clock" | "onExchange"> {
  /** If the generator is on the public internet, images from private networks are refused, so they stay private. */
  generatorUrl: URL;
  signal: AbortSignal;
  /** Whether the request is only displayed. Placeholders then replace images, and no image is read or downloaded. */
  isShown?: boolean;
}

export function shownContext<Deps extends ProviderDeps>(deps: Deps, generatorUrl: URL): Deps & ReferenceDeps {
  return { ...deps, generatorUrl, signal: new AbortController().signal, isShown: true };
}

const { reference: POLICY } = TRANSFER_POLICY;

export interface LocalReference {
  file: string;
  mediaType: string;
  standIn?: string;
}

/**
 * Copies a job's reference images into a folder (default: the job's folder) as `reference-1.png`, …
 * Each image is validated, because servers silently skip an image that they cannot read.
 * @throws ProviderError if an image cannot be used; nothing was sent to the generator
 */
export async function referenceFiles(
  { references, folder: jobFolder }: Pick<Job, "references" | "folder">,
  deps: ReferenceDeps,
  folder = jobFolder,
): Promise<LocalReference[]> {
  if (deps.isShown) return references.map(shownReference);
  const lookup = guardedLookup(deps.generatorUrl.hostname);
  const http = new HttpClient({ proxies: deps.proxies, onExchange: deps.onExchange, lookup });
  try {
    const files: LocalReference[] = [];
    for (const [at, reference] of references.entries()) {
      const name = describeReference(reference);
      const temporaryFile = path.join(folder, `reference-${at + 1}`);
      await copyReference(temporaryFile, reference, name, http, deps);
      giveToOwnerOfFolder(temporaryFile);
      const { extension, mediaType } = validateImage(temporaryFile, name);
      await rename(temporaryFile, `${temporaryFile}.${extension}`);
      files.push({ file: `${temporaryFile}.${extension}`, mediaType });
    }
    return files;
  } finally {
    await http.close();
  }
}

/** URL of a reference image. A `Base64File` is encoded as a `data:` URL while the request is sent. */
export type ReferenceUrl = string | Base64File;

/** Returns a URL for each reference image, or placeholders if the request is only displayed. @throws ProviderError */
export function referenceUrls(
  references: readonly Reference[],
  { isShown = false }: Pick<ReferenceDeps, "isShown">,
): ReferenceUrl[] {
  return references.map((reference) => {
    const isLong = "file" in reference || /^data:/i.test(reference.url);
    if (isShown && isLong) return shownReference(reference).standIn ?? "";
    if ("url" in reference) return reference.url;
    // The file is validated again, because it might have changed while the task waited for its turn.
    validateImage(reference.file, describeReference(reference));
    return new Base64File(reference.file, `data:${reference.mediaType};base64,`);
  });
}

/** Replaces a `data:` URL with its base64, for servers without support for `data:`. Returns other URLs unchanged. */
export function removeDataPrefix(url: ReferenceUrl): ReferenceUrl {
  return typeof url === "string" ? url.replace(/^data:[^,]*,/, "") : new Base64File(url.file);
}

export function toBase64({ file, standIn }: LocalReference): string | Base64File {
  return standIn ?? new Base64File(file);
}

function shownReference(reference: Reference): LocalReference {
  if ("file" in reference) return { ...reference, standIn: `<file ${path.basename(reference.file)}>` };
  const { url } = reference;
  const standIn = /^data:/i.test(url) ? "<a data: URL>" : `<${redactUrl(url)}>`;
  return { file: "", mediaType: "image/*", standIn };
}

function describeReference(reference: Reference): string {
  if ("file" in reference) return "The reference image file";
  const { url } = reference;
  return `The reference image ${/^data:/i.test(url) ? "in a data: URL" : redactUrl(url)}`;
}

/** @throws ProviderError */
async function copyReference(
  temporaryFile: string,
  reference: Reference,
  name: string,
  http: HttpClient,
  deps: ReferenceDeps,
): Promise<void> {
  await rm(temporaryFile, { force: true });
  if ("file" in reference) {
    validateImage(reference.file, name);
    // The mode of the source file is not copied, because some disks refuse to set the mode.
    await writeFile(temporaryFile, createReadStream(reference.file), { mode: 0o600 }).catch((error) => {
      throw unreadableError(name, error);
    });
  } else if (/^data:/i.test(reference.url)) {
    await writeFile(temporaryFile, await decodeDataUrl(reference.url, name), { mode: 0o600 });
  } else await downloadReference(temporaryFile, reference.url, name, http, deps);
}

/** Decodes the URL with `fetch`, because `fetch` supports all spellings of `data:` URLs. */
async function decodeDataUrl(url: string, name: string): Promise<Buffer> {
  try {
    return Buffer.from(await (await fetch(url)).arrayBuffer());
  } catch (error) {
    throw unsendable(`${name} cannot be read.`, { cause: error });
  }
}

/** Downloads a reference image. A failed download fails only this job, because the generator is not the cause. */
async function downloadReference(
  temporaryFile: string,
  url: string,
  name: string,
  http: HttpClient,
  { clock, generatorUrl, signal }: ReferenceDeps,
): Promise<void> {
  const downloadError = (reason: string) => unsendable(`${name} could not be downloaded: ${reason}.`);
  const result = await downloadImageFile(url, temporaryFile, {
    http,
    clock,
    serviceUrl: generatorUrl,
    maskKey: (text) => text,
    idleTimeoutMs: POLICY.idleMs,
    retry: POLICY,
    maxRetryAfterMs: POLICY.maxRetryAfterMs,
    signal,
  }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    if (signal.reason instanceof TimeLimitError)
      throw downloadError("the time limit of the request was exceeded");
    throw new ProviderError(
      `${name} was not downloaded, because the wait was stopped.`,
      { kind: "unsent" },
      { cause: signal.reason },
    );
  });
  if (result.outcome === "failed") throw downloadError(result.why);
  if (result.outcome === "disk_error") throw unreadableError(name, result.cause);
}

/** A pipe is refused, because a read from a pipe might never end. @throws ProviderError if the image is unusable */
function validateImage(file: string, name: string): ImageInfo {
  const inspection = inspectReference(file, name);
  if (inspection.ok) return inspection.image;
  throw unsendable(`${name} is ${inspection.problem}: ${inspection.detail}.`);
}

function inspectReference(file: string, name: string): ReturnType<typeof inspectFile> {
  try {
    return inspectFile(file);
  } catch (error) {
    throw unreadableError(name, error);
  }
}

function unreadableError(name: string, error: unknown): ProviderError {
  return unsendable(`${name} cannot be read: ${errorText(error)}.`, { cause: error });
}
