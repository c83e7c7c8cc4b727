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

/** Content of a sidecar: enough to submit its image's request again, on any machine. */
export interface Sidecar extends SidecarFacts {
  /** The release that wrote it. */
  imggen: string;
  mediaType: string;
  bytes: number;
  /** Digest of the image, in hex: a sidecar is only valid for exactly these bytes. */
  sha256: string;
  width: number;
  height: number;
  /** The seed of this image, if the request names one: the request has the seed of its first image. */
  seed?: WholeNumber;
}

function sidecarPath(image: string): string {
  return `${image}.json`;
}

/**
 * Writes the sidecar of an image if its destination demands one, complete or not at all. An error here does not affect the
 * saved image.
 * @param temporary a name in the image's folder that no other process uses
 * @returns the reason why it was not written, or null
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
    // An image of the same run may have the sidecar's name.
    if (destination.overwrite && (await published.take(target, keepsSinceMs)))
      await retryWhileInUse(() => promises.rename(temporary, target));
    else {
      const result = await publish(temporary, target, (name) => reserveName(name, ledger.processes));
      // A process that ended after it wrote the sidecar, and before it recorded the image, wrote the same.
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
  const request = unsigned(facts.request);
  const task = { taskId, service, request, credits, submittedAt, completedAt, ...(usage && { usage }) };
  const sidecar: Sidecar = { imggen: VERSION, ...task, ...image };
  return `${JSON.stringify(sidecar, null, 2)}\n`;
}

/** Removes the queries of reference images' URLs; `?…` replaces each. */
function unsigned({ image, ...request }: GenerationRequest): GenerationRequest {
  if (image === undefined) return request;
  return { ...request, image: Array.isArray(image) ? image.map(redactUrl) : redactUrl(image) };
}

/** The longest prompt is 20,000 characters, so a larger file is not a sidecar. */
const MAX_BYTES = 1024 * 1024;

/** Reads the sidecar of an image; null without one, or if the file is not a sidecar. */
export async function readSidecar(image: string): Promise<Sidecar | null> {
  return parseSidecar(await readText(sidecarPath(image), MAX_BYTES).catch(() => ""));
}

/** Missing facts become null or zero, because a sidecar may come from another machine or program. */
function parseSidecar(text: string): Sidecar | null {
  const json = fieldsOf(jsonOrNull(text));
  if (!isRequest(json.request)) return null;
  const { taskId, service, sha256, credits } = json;
  const seed = parseSeed(json.seed);
  if (!isTaskId(taskId) || typeof service !== "string" || typeof sha256 !== "string") return null;
  return {
    imggen: textIn(json.imggen) ?? "",
    taskId,
    service,
    request: json.request,
    credits: typeof credits === "number" && credits >= 0 ? credits : null,
    submittedAt: timeIn(json.submittedAt),
    completedAt: timeIn(json.completedAt),
    mediaType: textIn(json.mediaType) ?? "",
    bytes: numberIn(json.bytes) ?? 0,
    sha256,
    width: numberIn(json.width) ?? 0,
    height: numberIn(json.height) ?? 0,
    ...(seed !== null && { seed }),
  };
}

const textIn = (value: unknown) => (typeof value === "string" ? value : null);
const numberIn = (value: unknown) => (typeof value === "number" ? value : null);
const timeIn = (value: unknown) => {
  const timeMs = Date.parse(textIn(value) ?? "");
  return Number.isNaN(timeMs) ? null : isoTime(timeMs);
};
