import { createReadStream } from "node:fs";
import { isWhole } from "../core/images/copy-image.ts";
import { type FileAddress, readLink } from "../server/links.ts";
import { type ServerReply, unknownError } from "../server/reply.ts";
import type { SavedFile } from "../task/saved-file.ts";
import type { ImageId } from "./collected-images.ts";
import { endOf } from "./end.ts";
import type { Service } from "./serve-options.ts";
import { findTask } from "./server-tasks.ts";

/** GET /files/<task>/<index>.<extension>: an image, for anyone with its signed URL. */
export async function serveFile(address: FileAddress, service: Service): Promise<ServerReply> {
  const link = readLink(address, service.secret, service.clock.now());
  if ("refused" in link) return link.refused;
  const image = await imageOf(link, service);
  if (image === null || image.path === null) return unknownError("no such image", { status: 404 });
  // The user may change an image that `resume` has saved elsewhere.
  if (!(await isWhole(image))) return unknownError("no longer kept", { status: 410 });
  const { mediaType, bytes } = image;
  const onSent = () => service.collected.note(link);
  return {
    kind: "picture",
    chunks: contentOf(image.path),
    mediaType,
    bytes,
    cutShort: false,
    onSent,
    note: null,
  };
}

/** An image of a task that has ended; null if there is none. */
export async function imageOf(
  { taskId, index }: ImageId,
  service: Pick<Service, "ledger" | "runner" | "name">,
): Promise<SavedFile | null> {
  const task = await findTask(taskId, service);
  const end = task && endOf(task);
  return end?.name === "completed" ? (end.files[index] ?? null) : null;
}

/** The bytes of a file, which is opened when they are read: not for a HEAD. */
async function* contentOf(file: string): AsyncGenerator<Buffer> {
  yield* createReadStream(file);
}
