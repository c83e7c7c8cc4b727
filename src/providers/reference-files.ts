import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { guardedLookup } from "../api/address.ts";
import { HttpClient } from "../api/client.ts";
import { download } from "../api/download.ts";
import { backoffMs, REFERENCE } from "../api/retry.ts";
import { errorText } from "../lib/error-text.ts";
import { inspectBytes } from "../lib/image/inspect.ts";
import { withoutQuery } from "../lib/redact.ts";
import type { ProviderDeps } from "./deps.ts";
import { type Job, ProviderError, type Reference, TimeLimitError } from "./provider.ts";

export interface ReferenceDeps extends Pick<ProviderDeps, "proxies" | "clock" | "onExchange"> {
  /** Whose images they are for: one on the public internet has none fetched from a private network. */
  generatorUrl: URL;
  signal: AbortSignal;
  /** Whether names stand for the images, which are not read or downloaded: nothing is to be sent. */
  isShown?: boolean;
}

/** What a request is made from that is only shown. */
export function shownContext<Deps extends ProviderDeps>(deps: Deps, generatorUrl: URL): Deps & ReferenceDeps {
  return { ...deps, generatorUrl, signal: new AbortController().signal, isShown: true };
}

/** A host that says nothing for so long has failed once. */
const IDLE_TIMEOUT_MS = 15_000;

/** The longest Retry-After of a reference image's host that is waited for. */
const MOST_PATIENCE_MS = 20_000;

/** A reference image in a file of its own, whole and of a known type. */
export interface LocalReference {
  file: string;
  mediaType: string;
  /** What stands for its bytes where they are only shown. */
  shown?: string;
}

/**
 * A job's reference images as files, named `stem` with a number and the extension of their type. Those on the web are
 * downloaded by the rules for result URLs. Each is checked, because servers skip an image that they cannot read without
 * a word.
 * @throws ProviderError: nothing was sent to the generator
 */
export async function referenceFiles(
  { references }: Pick<Job, "references">,
  stem: string,
  deps: ReferenceDeps,
): Promise<LocalReference[]> {
  if (deps.isShown) return references.map(shownReference);
  const lookup = guardedLookup(deps.generatorUrl.hostname);
  const http = new HttpClient({ proxies: deps.proxies, onExchange: deps.onExchange, lookup });
  try {
    const files: LocalReference[] = [];
    for (const [at, reference] of references.entries()) {
      const name = nameOf(reference);
      const bytes = await bytesOf(reference, name, http, deps);
      const { extension, mediaType } = checked(bytes, name);
      const file = `${stem}-${at + 1}.${extension}`;
      await writeFile(file, bytes, { mode: 0o600 });
      files.push({ file, mediaType });
    }
    return files;
  } finally {
    await http.close();
  }
}

/** Every reference image as a URL; those on this disk as `data:` URLs, or what stands for them. @throws ProviderError */
export function referenceUrls(
  references: readonly Reference[],
  { isShown = false }: Pick<ReferenceDeps, "isShown">,
): Promise<string[]> {
  return Promise.all(
    references.map(async (reference) => {
      const isLong = "file" in reference || /^data:/i.test(reference.url);
      if (isShown && isLong) return shownReference(reference).shown ?? "";
      if ("url" in reference) return reference.url;
      const bytes = await fileBytes(reference);
      return `data:${reference.mediaType};base64,${bytes.toString("base64")}`;
    }),
  );
}

/** @throws ProviderError */
function fileBytes(reference: LocalReference): Promise<Buffer> {
  return readFile(reference.file).catch((error) => {
    throw invalid(`${nameOf(reference)} cannot be read: ${errorText(error)}`, error);
  });
}

/** A reference image's bytes in base64, or what stands for them. */
export function base64Of({ file, shown }: LocalReference): Promise<string> {
  return shown === undefined ? readFile(file, "base64") : Promise.resolve(shown);
}

/** What stands for a reference image where nothing is to be sent: `<file fox.png>`. */
function shownReference(reference: Reference): LocalReference {
  if ("file" in reference) return { ...reference, shown: `<file ${path.basename(reference.file)}>` };
  const { url } = reference;
  const shown = /^data:/i.test(url) ? "<a data: URL>" : `<${withoutQuery(url)}>`;
  return { file: "", mediaType: "image/*", shown };
}

/** How a message names a reference image. */
function nameOf(reference: Reference): string {
  if ("file" in reference) return "The reference image in a file";
  const { url } = reference;
  return `The reference image ${/^data:/i.test(url) ? "in a data: URL" : withoutQuery(url)}`;
}

async function bytesOf(
  reference: Reference,
  name: string,
  http: HttpClient,
  deps: ReferenceDeps,
): Promise<Buffer> {
  if ("file" in reference) return fileBytes(reference);
  if (/^data:/i.test(reference.url)) return decodedData(reference.url, name);
  return downloaded(reference.url, name, http, deps);
}

/** Node reads data: URLs by itself, in all their spellings. */
async function decodedData(url: string, name: string): Promise<Buffer> {
  try {
    return Buffer.from(await (await fetch(url)).arrayBuffer());
  } catch (error) {
    throw invalid(`${name} cannot be read`, error);
  }
}

/** Whatever is wrong with a reference image is so for its own job alone: the generator itself is not in trouble. */
async function downloaded(
  url: string,
  name: string,
  http: HttpClient,
  { clock, generatorUrl, signal }: ReferenceDeps,
): Promise<Buffer> {
  const refused = (why: string) => invalid(`${name} could not be downloaded: ${why}`);
  const checkSignal = () => {
    if (!signal.aborted) return;
    if (signal.reason instanceof TimeLimitError) throw refused("the time for the image was over");
    throw new ProviderError(`${name} was not waited for.`, { kind: "unsent" }, { cause: signal.reason });
  };
  for (let failures = 1; ; failures++) {
    const chunks: Buffer[] = [];
    const reply = await download(
      url,
      { write: (chunk) => void chunks.push(chunk) },
      {
        http,
        clock,
        serviceUrl: generatorUrl,
        maskKey: (text) => text,
        idleTimeoutMs: IDLE_TIMEOUT_MS,
        signal,
      },
    );
    checkSignal();
    if (reply.outcome === "done") return Buffer.concat(chunks);
    if (reply.outcome !== "retry") throw refused(reply.why);
    if (failures === REFERENCE.attempts) throw refused(`${reply.why}, ${failures} times`);
    const delayMs = backoffMs(REFERENCE, failures, reply.retryAfterMs);
    if (delayMs > MOST_PATIENCE_MS) throw refused(`${reply.why}, try again later`);
    await clock.sleep(delayMs, signal).catch(checkSignal);
  }
}

function checked(bytes: Buffer, name: string) {
  const inspection = inspectBytes(bytes);
  if (inspection.ok) return inspection.image;
  throw invalid(`${name} is ${inspection.problem}: ${inspection.detail}`);
}

function invalid(what: string, cause?: unknown): ProviderError {
  const hint = "Nothing was sent or charged.";
  return new ProviderError(`${what}.`, { kind: "invalid" }, { cause, hint });
}
