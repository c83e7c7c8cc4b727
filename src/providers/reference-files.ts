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
  /** The generator's URL: for one on the public internet, nothing is downloaded from a private network. */
  generatorUrl: URL;
  signal: AbortSignal;
  /** Whether names stand for the images, which are not read or downloaded: nothing is to be sent. */
  isShown?: boolean;
}

/** The context of a request that is shown and not sent. */
export function shownContext<Deps extends ProviderDeps>(deps: Deps, generatorUrl: URL): Deps & ReferenceDeps {
  return { ...deps, generatorUrl, signal: new AbortController().signal, isShown: true };
}

const { reference: POLICY } = TRANSFER_POLICY;

/** A reference image in a file of its own, whole and of a known type. */
export interface LocalReference {
  file: string;
  mediaType: string;
  /** What stands for its bytes where they are only shown. */
  standIn?: string;
}

/**
 * A job's reference images as files in a folder, its own by default: `reference-1.png`, … Those on the web are
 * downloaded by the rules for result URLs. Each is checked, because servers skip an image that they cannot read without
 * a word.
 * @throws ProviderError: nothing was sent to the generator
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
      const name = referenceName(reference);
      const temporaryFile = path.join(folder, `reference-${at + 1}`);
      await fetchInto(temporaryFile, reference, name, http, deps);
      giveToOwnerOfFolder(temporaryFile);
      const { extension, mediaType } = checked(temporaryFile, name);
      await rename(temporaryFile, `${temporaryFile}.${extension}`);
      files.push({ file: `${temporaryFile}.${extension}`, mediaType });
    }
    return files;
  } finally {
    await http.close();
  }
}

/** A URL of a reference image. A file becomes a `data:` URL while it is sent. */
export type ReferenceUrl = string | Base64File;

/** Every reference image as a URL, or its stand-in where nothing is sent. @throws ProviderError */
export function referenceUrls(
  references: readonly Reference[],
  { isShown = false }: Pick<ReferenceDeps, "isShown">,
): ReferenceUrl[] {
  return references.map((reference) => {
    const isLong = "file" in reference || /^data:/i.test(reference.url);
    if (isShown && isLong) return shownReference(reference).standIn ?? "";
    if ("url" in reference) return reference.url;
    // It may be another file by now than the one that was checked: a task may wait for days.
    checked(reference.file, referenceName(reference));
    return new Base64File(reference.file, `data:${reference.mediaType};base64,`);
  });
}

/** The base64 of a `data:` URL, for servers that accept no such URL. Any other URL stays as it is. */
export function withoutDataPrefix(url: ReferenceUrl): ReferenceUrl {
  return typeof url === "string" ? url.replace(/^data:[^,]*,/, "") : new Base64File(url.file);
}

/** A reference image's bytes in base64, or their stand-in. */
export function toBase64({ file, standIn }: LocalReference): string | Base64File {
  return standIn ?? new Base64File(file);
}

/** The stand-in for a reference image where nothing is sent: `<file fox.png>`. */
function shownReference(reference: Reference): LocalReference {
  if ("file" in reference) return { ...reference, standIn: `<file ${path.basename(reference.file)}>` };
  const { url } = reference;
  const standIn = /^data:/i.test(url) ? "<a data: URL>" : `<${redactUrl(url)}>`;
  return { file: "", mediaType: "image/*", standIn };
}

/** A reference image's name in messages. */
function referenceName(reference: Reference): string {
  if ("file" in reference) return "The reference image in a file";
  const { url } = reference;
  return `The reference image ${/^data:/i.test(url) ? "in a data: URL" : redactUrl(url)}`;
}

/** Writes a reference image into a new file. @throws ProviderError */
async function fetchInto(
  temporaryFile: string,
  reference: Reference,
  name: string,
  http: HttpClient,
  deps: ReferenceDeps,
): Promise<void> {
  await rm(temporaryFile, { force: true });
  if ("file" in reference) {
    checked(reference.file, name);
    // Without the mode of the source, which some disks refuse.
    await writeFile(temporaryFile, createReadStream(reference.file), { mode: 0o600 }).catch((error) => {
      throw notRead(name, error);
    });
  } else if (/^data:/i.test(reference.url)) {
    await writeFile(temporaryFile, await decodedData(reference.url, name), { mode: 0o600 });
  } else await downloadInto(temporaryFile, reference.url, name, http, deps);
}

/** Node reads data: URLs by itself, in all their spellings. */
async function decodedData(url: string, name: string): Promise<Buffer> {
  try {
    return Buffer.from(await (await fetch(url)).arrayBuffer());
  } catch (error) {
    throw unsendable(`${name} cannot be read.`, { cause: error });
  }
}

/** A failure concerns this job alone, and says nothing about the generator. */
async function downloadInto(
  temporaryFile: string,
  url: string,
  name: string,
  http: HttpClient,
  { clock, generatorUrl, signal }: ReferenceDeps,
): Promise<void> {
  const refused = (why: string) => unsendable(`${name} could not be downloaded: ${why}.`);
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
    if (signal.reason instanceof TimeLimitError) throw refused("the time for the image was over");
    throw new ProviderError(`${name} was not waited for.`, { kind: "unsent" }, { cause: signal.reason });
  });
  if (result.outcome === "failed") throw refused(result.why);
  if (result.outcome === "disk_error") throw notRead(name, result.cause);
}

/** @throws ProviderError for what is no whole image, a pipe that would never end among them */
function checked(file: string, name: string): ImageInfo {
  const inspection = inspectReference(file, name);
  if (inspection.ok) return inspection.image;
  throw unsendable(`${name} is ${inspection.problem}: ${inspection.detail}.`);
}

function inspectReference(file: string, name: string): ReturnType<typeof inspectFile> {
  try {
    return inspectFile(file);
  } catch (error) {
    throw notRead(name, error);
  }
}

function notRead(name: string, error: unknown): ProviderError {
  return unsendable(`${name} cannot be read: ${errorText(error)}.`, { cause: error });
}
