import { promises } from "node:fs";
import path from "node:path";
import { isoTime } from "../../lib/clock.ts";
import { removeIfPossible, retryWhileInUse, syncFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { parseSeed, type WholeNumber } from "../../lib/exact-integer.ts";
import { fieldsOf, jsonOrNull } from "../../lib/json.ts";
import { publish } from "../../lib/publish.ts";
import { readText } from "../../lib/read-file.ts";
import { redactUrl } from "../../lib/redact.ts";
import { VERSION } from "../../lib/version.ts";
import { writeSynced } from "../../lib/write-whole.ts";
import { isTaskId } from "../../providers/service/replies.ts";
import { type GenerationRequest, isRequest } from "../../task/request.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { reserveName } from "./published-names.ts";
import type { SaveSpec, SidecarFacts } from "./save-spec.ts";

/** Content of a sidecar, from which the request can be submitted again on any machine. */
export interface Sidecar extends SidecarFacts {
  /** Release of imggen that wrote the sidecar. */
  imggen: string;
  mediaType: string;
  bytes: number;
  /** Digest of the image, in hex. The sidecar is valid only for an image with this digest. */
  sha256: string;
  width: number;
  height: number;
  /** Seed of this image. The seed in `request` is the seed of the request's first image. */
  seed?: WholeNumber;
}

function sidecarPath(image: string): string {
  return `${image}.json`;
}

/**
 * Returns a warning if the sidecar was not written, otherwise null. The image is saved in both cases.
 * @param temporary name in the image's folder that no other process uses
 */
export async function writeSidecar(
  file: SavedFile,
  temporary: string,
  { destination, facts, keepsSinceMs }: Pick<SaveSpec, "destination" | "facts" | "keepsSinceMs">,
  {
    connection,
    fileMode,
    ledger,
    published,
  }: Pick<TaskDeps, "connection" | "fileMode" | "ledger" | "published">,
): Promise<string | null> {
  const { path: image, sha256 } = file;
  if (!destination.sidecar || image === null || facts === null) return null;
  const target = sidecarPath(image);
  try {
    await writeSynced(temporary, connection.maskKey(sidecarText(file, facts)), fileMode);
    // The name is taken before a file is replaced, because the file might be an image of the same run.
    if (destination.overwrite && (await published.take(target, keepsSinceMs)))
      await retryWhileInUse(() => promises.rename(temporary, target));
    else {
      const result = await publish(temporary, target, (name) => reserveName(name, ledger.processes));
      // A sidecar of this image is accepted, because a killed process might have written it.
      if (result === "exists" && (await readSidecar(image))?.sha256 !== sha256)
        return `No sidecar was written: ${target} exists already.`;
    }
    await syncFolder(path.dirname(target));
    return null;
  } catch (error) {
    return `No sidecar was written to ${target}: ${errorText(error)}. The image is saved.`;
  } finally {
    removeIfPossible(temporary);
  }
}

function sidecarText(
  { path: _path, url: _url, originalSha256: _original, ...image }: SavedFile,
  facts: SidecarFacts,
): string {
  const { taskId, service, credits, submittedAt, completedAt, usage } = facts;
  const request = redactImageUrls(facts.request);
  const task = { taskId, service, request, credits, submittedAt, completedAt, ...(usage && { usage }) };
  const sidecar: Sidecar = { imggen: VERSION, ...task, ...image };
  return `${JSON.stringify(sidecar, null, 2)}\n`;
}

/** Replaces the queries of reference images' URLs with `?…`, because a query can be a signature. */
function redactImageUrls({ image, ...request }: GenerationRequest): GenerationRequest {
  if (image === undefined) return request;
  return { ...request, image: Array.isArray(image) ? image.map(redactUrl) : redactUrl(image) };
}

/** Maximum number of bytes to read. No sidecar is that large, because prompts have at most 20,000 characters. */
const MAX_BYTES = 1024 * 1024;

export async function readSidecar(image: string): Promise<Sidecar | null> {
  return parseSidecar(await readText(sidecarPath(image), MAX_BYTES).catch(() => ""));
}

/** Missing facts become null, zero or empty, because another release or program might have written the sidecar. */
function parseSidecar(text: string): Sidecar | null {
  const json = fieldsOf(jsonOrNull(text));
  if (!isRequest(json.request)) return null;
  const { taskId, service, sha256, credits } = json;
  const seed = parseSeed(json.seed);
  if (!isTaskId(taskId) || typeof service !== "string" || typeof sha256 !== "string") return null;
  return {
    imggen: textOrNull(json.imggen) ?? "",
    taskId,
    service,
    request: json.request,
    credits: typeof credits === "number" && credits >= 0 ? credits : null,
    submittedAt: timeOrNull(json.submittedAt),
    completedAt: timeOrNull(json.completedAt),
    mediaType: textOrNull(json.mediaType) ?? "",
    bytes: numberOrNull(json.bytes) ?? 0,
    sha256,
    width: numberOrNull(json.width) ?? 0,
    height: numberOrNull(json.height) ?? 0,
    ...(seed !== null && { seed }),
  };
}

const textOrNull = (value: unknown) => (typeof value === "string" ? value : null);
const numberOrNull = (value: unknown) => (typeof value === "number" ? value : null);
const timeOrNull = (value: unknown) => {
  const timeMs = Date.parse(textOrNull(value) ?? "");
  return Number.isNaN(timeMs) ? null : isoTime(timeMs);
};
