import { type ImageOrigin, originOfFile, originOfTask } from "../core/engine/origin.ts";
import { UsageError } from "../lib/error-types.ts";
import type { Ledger } from "../store/ledger.ts";

/**
 * The request that an image came from, or of the task that has this id. An image is recognised by its bytes, so it
 * may have been moved or renamed since, but not changed. A request that the ledger lacks may be in the sidecar.
 * @param file `what` as an absolute path
 * @param replacesImages whether its reference images are not needed
 * @throws UsageError if neither has it, or the sidecar has only a part of it
 */
export async function findEarlierRequest(
  what: string,
  file: string,
  ledger: Ledger,
  replacesImages = false,
): Promise<ImageOrigin & { isImage: boolean }> {
  const origin = await originOfFile(what, file, ledger);
  if (origin === null) {
    const record = await ledger.find(what);
    if (record === null) throw unknownTask(what);
    return { ...originOfTask(record), isImage: false };
  }
  const areKnown = origin.record !== null || replacesImages;
  const shortened = areKnown
    ? undefined
    : [origin.request.image ?? []].flat().find((url) => url.endsWith("?…"));
  if (shortened !== undefined) throw shortenedImage(what, shortened);
  return { ...origin, isImage: true };
}

function unknownTask(id: string): UsageError {
  return new UsageError(`There is neither a file nor a task ${JSON.stringify(id)} on this machine.`, {
    hint: "Nothing was sent. To see the tasks of this machine: imggen history",
  });
}

function shortenedImage(file: string, url: string): UsageError {
  return new UsageError(
    `${file} was made from ${url}, and its sidecar omits the part of the URL after the "?".`,
    { hint: "Nothing was sent. Use imggen generate, with --image <url> for each reference image." },
  );
}
