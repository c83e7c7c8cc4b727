import { createReadStream, promises } from "node:fs";
import path from "node:path";
import { removeIfPossible } from "../../lib/durable.ts";
import { EXTENSIONS } from "../../lib/image/extensions.ts";
import { syncFolder } from "../../lib/sync-folder.ts";
import { whileInUse } from "../../lib/while-in-use.ts";
import type { TaskDeps } from "../deps.ts";
import { SaveFailedError } from "../errors.ts";
import { type DownloadedImage, diskFailure } from "./download-image.ts";
import { renderName } from "./file-name.ts";
import { publishNumbered } from "./publish-image.ts";
import type { SaveResult, SaveSpec } from "./save-spec.ts";

/** An image under its final name. */
interface Placed {
  path: string | null;
  warnings: string[];
}

/**
 * Gives a downloaded image its final name, or writes it to standard output.
 * @throws SaveFailedError; the temporary file is gone then
 */
export async function placeImage(
  fetched: DownloadedImage,
  index: number,
  spec: SaveSpec,
  result: SaveResult,
  deps: TaskDeps,
): Promise<Placed> {
  if (spec.destination.kind === "stdout" && index === 1) return writeToStdout(fetched, deps);
  const wanted = finalPath(fetched, index, spec);
  try {
    const file = await publishNumbered(fetched, wanted, index, spec, result, deps);
    await syncFolder(path.dirname(file));
    return { path: file, warnings: typeWarnings(file, fetched) };
  } catch (error) {
    // The next run downloads it again.
    removeIfPossible(fetched.temporary);
    throw diskFailure(wanted, error);
  }
}

/** The path of an image if the name is free. */
function finalPath(fetched: DownloadedImage, index: number, spec: SaveSpec): string {
  const { destination, taskId, request } = spec;
  const { extension } = fetched.image;
  if (destination.kind === "file") {
    return path.extname(destination.path) === "" ? `${destination.path}.${extension}` : destination.path;
  }
  const name = renderName(destination.template, { request, taskId, index, extension, date: spec.date });
  return path.join(destination.folder, name);
}

/** A name that the user chose is kept even if the bytes are of another type; this warns about it. */
function typeWarnings(file: string, { image }: DownloadedImage): string[] {
  const named = path.extname(file).slice(1).toLowerCase();
  const extensions: readonly string[] = EXTENSIONS[image.type];
  if (extensions.includes(named)) return [];
  return [`${path.basename(file)} holds a ${image.extension.toUpperCase()} image.`];
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
    await whileInUse(() => promises.unlink(fetched.temporary));
  }
  return { path: null, warnings: [] };
}
