import { readdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Clock } from "../lib/clock.ts";
import { DiskFile } from "../lib/disk-file.ts";
import { removeIfPossible, removeOldFiles } from "../lib/durable.ts";
import { sha256Hex } from "../lib/file-digest.ts";
import { inspectBytes } from "../lib/image/inspect.ts";
import { createOrRenew, randomDigits } from "../lib/write-whole.ts";
import { REFERENCE_TYPES } from "../task/request.ts";

/** Lifetime of a downloaded image. The image is not removed at once, because the client might not have saved it. */
const KEEP_MS = 30 * 24 * 3_600_000;
const MAX_REMOVED = 200;

export interface ImageId {
  taskId: string;
  index: number;
}

const MARK_NAME = /^(\d{15})-(task_[0-9a-f]{20})-(\d{1,2})-[0-9a-f]{8}$/;

/**
 * Record of complete downloads. Each download is an empty file, and the file names sort by time.
 * Images without a download are kept forever, because they might be paid for.
 */
export class CollectedImages {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "now">;

  constructor(folder: string, clock: Pick<Clock, "now">) {
    this.#folder = folder;
    this.#clock = clock;
  }

  note({ taskId, index }: ImageId): void {
    const time = String(this.#clock.now()).padStart(15, "0");
    const name = `${time}-${taskId}-${index}-${randomDigits()}`;
    try {
      DiskFile.createExclusive(path.join(this.#folder, name), 0o600).close();
    } catch {}
  }

  /** Removes images `KEEP_MS` after their download, but keeps the records of their tasks. @throws the disk's error */
  async removeOld(findFile: (image: ImageId) => Promise<string | null>): Promise<void> {
    const oldestMs = this.#clock.now() - KEEP_MS;
    // Files of other programs, for example of a file manager, are ignored.
    const marks = readdirSync(this.#folder).filter((name) => MARK_NAME.test(name));
    for (const name of marks.sort().slice(0, MAX_REMOVED)) {
      const [, time, taskId = "", index] = MARK_NAME.exec(name) ?? [];
      if (time === undefined || Number(time) > oldestMs) return;
      const file = await findFile({ taskId, index: Number(index) });
      if (file !== null) removeIfPossible(file);
      removeIfPossible(path.join(this.#folder, name));
    }
  }
}

/** Returns the file's URL, or null if the image is not a complete JPEG, PNG or WebP. @throws the disk's error */
export async function keepReference(bytes: Buffer, folder: string): Promise<string | null> {
  const inspection = inspectBytes(bytes);
  if (!inspection.ok || !REFERENCE_TYPES.includes(inspection.image.type)) return null;
  const file = path.join(folder, `${sha256Hex(bytes)}.${inspection.image.extension}`);
  await createOrRenew(file, bytes);
  return pathToFileURL(file).href;
}

/** @param neededNames names of files that unfinished tasks need @throws the disk's error */
export function removeOldReferences(folder: string, neededNames: ReadonlySet<string>, nowMs: number): void {
  removeOldFiles(folder, nowMs - KEEP_MS, (name) => neededNames.has(name));
}
