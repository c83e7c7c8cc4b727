import { createReadStream, readdirSync, statSync, utimesSync } from "node:fs";
import path from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { DiskFile } from "../../lib/disk-file.ts";
import { isPresent, removeIfPossible } from "../../lib/durable.ts";
import { randomDigits } from "../../lib/write-whole.ts";
import { type FileAddress, readLink } from "../links.ts";
import type { QueuedTasks } from "../queue/task-folder.ts";
import { type SandboxReply, unknownError } from "../reply.ts";

/**
 * For how long files are kept that are no longer needed: an image that a client has all of, in case it could not save
 * it, and a reference image, in case its request is submitted again.
 */
const KEPT_MS = 30 * 24 * 3_600_000;
/** At one start of a service, which is to be quick. */
const MOST_REMOVED = 200;

/** Which image of a task. */
interface ImageId {
  taskId: string;
  index: number;
}

const MARK = /^(\d{15})-(task_[0-9a-f]{20})-(\d{1,2})-[0-9a-f]{8}$/;

/**
 * Images that a client has downloaded to the end: a mark for each, whose name sorts by time. An image that nobody has
 * fetched is kept for good, because it may be paid for.
 */
export class CollectedImages {
  readonly #folder: string;
  readonly #clock: Pick<Clock, "now">;

  constructor(folder: string, clock: Pick<Clock, "now">) {
    this.#folder = folder;
    this.#clock = clock;
  }

  /** Without a mark the image is only kept for longer. */
  note({ taskId, index }: ImageId): void {
    const time = String(this.#clock.now()).padStart(15, "0");
    try {
      DiskFile.createExclusive(
        path.join(this.#folder, `${time}-${taskId}-${index}-${randomDigits()}`),
        0o600,
      ).close();
    } catch {
      // The disk refuses it.
    }
  }

  /** Removes images that were collected long ago; what is known of their tasks stays. @throws the disk's error */
  async removeOld(tasks: QueuedTasks): Promise<void> {
    const oldestKept = this.#clock.now() - KEPT_MS;
    for (const name of readdirSync(this.#folder).sort().slice(0, MOST_REMOVED)) {
      const [, time, taskId = "", index] = MARK.exec(name) ?? [];
      if (time === undefined || Number(time) > oldestKept) return;
      const found = await tasks.find(taskId);
      const image = found?.state.name === "completed" ? found.state.images[Number(index)] : undefined;
      if (found && image) removeIfPossible(path.join(found.folder, image.file));
      removeIfPossible(path.join(this.#folder, name));
    }
  }
}

/** Keeps a private copy of a reference image for longer. @throws the disk's error */
export function noteUse(file: string): void {
  utimesSync(file, new Date(), new Date());
}

/** Removes copies of reference images that no unfinished task needs, and no other has for long. @throws the disk's error */
export async function removeOldReferences(
  folder: string,
  tasks: QueuedTasks,
  { now }: Pick<Clock, "now">,
): Promise<void> {
  const isOld = (name: string) => statSync(path.join(folder, name)).mtimeMs <= now() - KEPT_MS;
  const old = readdirSync(folder).filter(isOld);
  if (old.length === 0) return;
  const open = await Promise.all(tasks.openIds().map((taskId) => tasks.find(taskId)));
  const references = open.flatMap((found) => found?.task.references ?? []);
  // By name: a task that another machine or a container submitted may have another path to this folder.
  const needed = new Set(
    references.map((reference) => ("file" in reference ? path.basename(reference.file) : null)),
  );
  // A request may have come, and noted its use, since the names were read.
  for (const name of old) if (!needed.has(name) && isOld(name)) removeIfPossible(path.join(folder, name));
}

interface FileDeps {
  secret: string;
  tasks: QueuedTasks;
  clock: Pick<Clock, "now">;
  collected: CollectedImages;
}

/** GET /files/<task>/<index>.<extension>: an image, for anyone with its signed URL. */
export async function serveFile(
  address: FileAddress,
  { secret, tasks, clock, collected }: FileDeps,
): Promise<SandboxReply> {
  const link = readLink(address, secret, clock.now());
  if ("refused" in link) return link.refused;
  const found = await tasks.find(link.taskId);
  const image = found?.state.name === "completed" ? found.state.images[link.index] : undefined;
  if (found === null || image === undefined) return unknownError("no such image", { status: 404 });
  const file = path.join(found.folder, image.file);
  if (!isPresent(file)) return unknownError("no longer kept", { status: 410 });
  const { mediaType, bytes } = image;
  const chunks = contentOf(file, () => collected.note(link));
  return { kind: "picture", chunks, mediaType, bytes, cutShort: false, note: null };
}

/** Opened when it is read, which it is not for a HEAD. @param onEnd called when all of it was taken */
async function* contentOf(file: string, onEnd: () => void): AsyncGenerator<Buffer> {
  yield* createReadStream(file);
  onEnd();
}
