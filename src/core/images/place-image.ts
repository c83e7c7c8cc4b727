import { createReadStream, promises } from "node:fs";
import path from "node:path";
import { ignoreUnsupported } from "../../lib/disk-file.ts";
import { removeIfPossible, removeIfPresent, retryWhileInUse, syncFolder } from "../../lib/durable.ts";
import { hasContent, sha256Hex } from "../../lib/file-digest.ts";
import { typeFromName } from "../../lib/image/format.ts";
import { inspectBytes } from "../../lib/image/inspect.ts";
import { publish } from "../../lib/publish.ts";
import { readRegular } from "../../lib/read-file.ts";
import { writeSynced } from "../../lib/write-whole.ts";
import type { TaskDeps } from "../engine/deps.ts";
import { SaveFailedError } from "../errors.ts";
import { type DownloadedImage, diskFailure } from "./download-image.ts";
import { type NameFacts, numberedPath, renderName } from "./file-name.ts";
import { reserveName } from "./published-names.ts";
import type { SaveResult, SaveSpec } from "./save-spec.ts";

interface Placed {
  path: string | null;
  image: DownloadedImage;
  warnings: string[];
}

type ImageFacts = Pick<NameFacts, "index" | "seed">;

/** @throws SaveFailedError, after the temporary file is removed */
export async function placeImage(
  fetched: DownloadedImage,
  facts: ImageFacts,
  spec: SaveSpec,
  result: SaveResult,
  deps: TaskDeps,
): Promise<Placed> {
  const { index } = facts;
  if (spec.destination.kind === "stdout" && index === 1) return writeToStdout(fetched, deps);
  const target = finalPath(fetched, facts, spec);
  try {
    const { image, warnings } = await convertToNamedType(fetched, target, deps);
    const file = await publishNumbered(image, target, index, spec, result, deps);
    await syncFolder(path.dirname(file));
    return { path: file, image, warnings: warnings.map((warning) => `${path.basename(file)} ${warning}.`) };
  } catch (error) {
    // The temporary file is no longer needed, because the next run downloads the image again.
    removeIfPossible(fetched.temporary);
    throw diskFailure(target, error);
  }
}

function finalPath(fetched: DownloadedImage, facts: ImageFacts, spec: SaveSpec): string {
  const { destination, taskId, request } = spec;
  const { extension } = fetched.image;
  if (destination.kind === "file") {
    const suffix = path.extname(destination.path);
    const isOther = !isImage(fetched);
    // A file that is not an image must not have an image's extension, so its extension is replaced.
    const base = isOther && suffix !== "" ? destination.path.slice(0, -suffix.length) : destination.path;
    return isOther || suffix === "" ? `${base}.${extension}` : base;
  }
  const name = renderName(destination.template, { ...facts, request, taskId, extension, date: spec.date });
  return path.join(destination.folder, name);
}

async function writeToStdout(fetched: DownloadedImage, deps: TaskDeps): Promise<Placed> {
  try {
    await deps.writeOut(createReadStream(fetched.temporary));
  } catch (error) {
    throw new SaveFailedError("The image could not be written to standard output.", {
      charged: "yes",
      cause: error,
    });
  } finally {
    await retryWhileInUse(() => promises.unlink(fetched.temporary));
  }
  const warnings = isImage(fetched)
    ? []
    : [`The data written to standard output ${notImageClause(fetched)}.`];
  return { path: null, image: fetched, warnings };
}

function isImage({ image: { type } }: DownloadedImage): boolean {
  return type !== "other" && type !== "unrecognised";
}

function notImageClause({ image: { mediaType } }: DownloadedImage): string {
  return `is not an image but of type ${mediaType}`;
}

/** Publishes an image under the first free number. With `--overwrite`, a number with a replaceable file is free. */
async function publishNumbered(
  fetched: DownloadedImage,
  target: string,
  index: number,
  spec: SaveSpec,
  { files }: SaveResult,
  deps: TaskDeps,
): Promise<string> {
  const { destination } = spec;
  const numberedByTemplate = destination.kind !== "file" && destination.template.includes("{index}");
  for (let number = numberedByTemplate ? 1 : index; ; number++) {
    const file = numberedPath(target, number);
    if ((await publishAs(fetched.temporary, file, spec, deps)) === "published") return file;
    // The file of another image of the task is not reused, because two equal images need two files.
    const isFileOfTask = files.some((each) => each?.path === file);
    if (spec.recovering && !isFileOfTask && (await hasContent(file, fetched))) {
      await retryWhileInUse(() => promises.unlink(fetched.temporary));
      return file;
    }
  }
}

async function publishAs(
  temporary: string,
  file: string,
  spec: SaveSpec,
  deps: TaskDeps,
): Promise<"published" | "exists"> {
  const reserve = (name: string) => reserveName(name, deps.ledger.processes);
  if (!spec.destination.overwrite) return publish(temporary, file, reserve);
  // Without the reservation, two processes could replace each other's image.
  const release = await reserve(file);
  if (release === null) return "exists";
  try {
    return await replace(temporary, file, spec, deps);
  } finally {
    await release();
  }
}

async function replace(
  temporary: string,
  file: string,
  { keepsSinceMs }: SaveSpec,
  { published, clock }: TaskDeps,
): Promise<"published" | "exists"> {
  if (!(await published.take(file, keepsSinceMs))) return "exists";
  try {
    // The modification time is set to the time of publication, because other processes detect new files by this time.
    const now = new Date(clock.now());
    await ignoreUnsupported(() => promises.utimes(temporary, now, now));
    await retryWhileInUse(() => promises.rename(temporary, file));
    return "published";
  } catch (error) {
    await published.giveBack(file);
    throw error;
  }
}

/** @returns the image, and warnings that continue a sentence after the file name @throws the disk's error */
async function convertToNamedType(
  fetched: DownloadedImage,
  target: string,
  deps: Pick<TaskDeps, "fileMode">,
): Promise<Omit<Placed, "path">> {
  if (!isImage(fetched))
    return { image: fetched, warnings: [`${notImageClause(fetched)}; it was saved as received`] };
  const type = typeFromName(target);
  const kind = fetched.image.extension.toUpperCase();
  if (type === fetched.image.type) return { image: fetched, warnings: [] };
  // If an update has removed the files of this program, the import fails, and the image is saved unconverted.
  const decoder = await import("../../graphics/decoder.ts").catch(() => null);
  if (decoder === null || type === null || !decoder.isWritable(type))
    return { image: fetched, warnings: [`contains a ${kind} image`] };
  try {
    const { bytes, lostMetadata } = await decoder.convertImage(readRegular(fetched.temporary), type);
    const image = await replaceBytes(fetched, bytes, deps.fileMode);
    const lossClause = lostMetadata.length > 0 ? `, without its ${lostMetadata.join(", ")}` : "";
    return { image, warnings: [`was converted from the ${kind} image that the service sent${lossClause}`] };
  } catch (error) {
    if (!(error instanceof decoder.UndecodableError)) throw error;
    return {
      image: fetched,
      warnings: [`contains a ${kind} image, which was not converted: ${error.message}`],
    };
  }
}

async function replaceBytes(fetched: DownloadedImage, bytes: Buffer, mode: number): Promise<DownloadedImage> {
  const { temporary, sha256: originalSha256 } = fetched;
  const inspection = inspectBytes(bytes);
  if (!inspection.ok)
    throw new TypeError(`the image library wrote an incomplete image: ${inspection.detail}`);
  removeIfPresent(temporary);
  await writeSynced(temporary, bytes, mode);
  return {
    ...fetched,
    image: inspection.image,
    bytes: bytes.length,
    sha256: sha256Hex(bytes),
    originalSha256,
  };
}
