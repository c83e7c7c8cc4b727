import { createReadStream, promises } from "node:fs";
import path from "node:path";
import { removeIfPossible, syncFolder } from "../../lib/durable.ts";
import { whileInUse } from "../../lib/while-in-use.ts";
import type { TaskDeps } from "../deps.ts";
import { SaveFailedError } from "../errors.ts";
import { asNamed } from "./convert-image.ts";
import { type DownloadedImage, diskFailure } from "./download-image.ts";
import { renderName } from "./file-name.ts";
import { publishNumbered } from "./publish-image.ts";
import type { SaveResult, SaveSpec } from "./save-spec.ts";

/** An image under its final name, as it is there: it may have been converted. */
interface Placed {
  path: string | null;
  image: DownloadedImage;
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
    const { image, warnings } = await asNamed(fetched, wanted, deps);
    const file = await publishNumbered(image, wanted, index, spec, result, deps);
    await syncFolder(path.dirname(file));
    return { path: file, image, warnings: warnings.map((warning) => `${path.basename(file)} ${warning}.`) };
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
  return { path: null, image: fetched, warnings: [] };
}
