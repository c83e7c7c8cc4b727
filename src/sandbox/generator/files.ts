import { createReadStream } from "node:fs";
import path from "node:path";
import { isPresent } from "../../lib/durable.ts";
import { readImageUrl } from "../links.ts";
import { type SandboxReply, unknownError } from "../reply.ts";
import type { GeneratorService } from "./service.ts";

/** GET /files/<task>/<index>.<extension>: an image, for anyone with its signed URL. */
export async function serveFile(
  { taskId, name, query }: { taskId: string; name: string; query: URLSearchParams },
  { secret, tasks, clock, collected }: Pick<GeneratorService, "secret" | "tasks" | "clock" | "collected">,
): Promise<SandboxReply> {
  const link = readImageUrl(taskId, name, query, secret);
  if (link === null) return unknownError("wrong signature", { status: 403 });
  if (clock.now() >= link.expires * 1000) return unknownError("expired", { status: 403 });
  const found = await tasks.find(taskId);
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
