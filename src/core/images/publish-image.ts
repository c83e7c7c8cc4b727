import { promises } from "node:fs";
import { isFileOf } from "../../lib/file-digest.ts";
import { publish } from "../../lib/publish.ts";
import { whileInUse } from "../../lib/while-in-use.ts";
import type { TaskDeps } from "../deps.ts";
import type { DownloadedImage } from "./download-image.ts";
import { numberedPath } from "./file-name.ts";
import { reserveName } from "./reserve-name.ts";
import type { SaveResult, SaveSpec } from "./save-spec.ts";

/** Publishes under the first free number; with `--overwrite`, under the image's own number. */
export async function publishNumbered(
  fetched: DownloadedImage,
  wanted: string,
  index: number,
  spec: SaveSpec,
  { files }: SaveResult,
  deps: TaskDeps,
): Promise<string> {
  const { destination } = spec;
  const numberedByTemplate = destination.kind !== "file" && destination.template.includes("{index}");
  for (let number = numberedByTemplate ? 1 : index; ; number++) {
    const file = numberedPath(wanted, number);
    if ((await publishAs(fetched.temporary, file, spec, deps)) === "published") return file;
    // If two images of a task are equal, the first one's file must not count as the second's.
    const isOurs = files.some((saved) => saved?.path === file);
    if (spec.recovering && !isOurs && (await isFileOf(file, fetched))) {
      await whileInUse(() => promises.unlink(fetched.temporary));
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
  // Without the reservation, two processes that both find an old file would replace each other's image.
  const giveUp = await reserve(file);
  if (giveUp === null) return "exists";
  try {
    return await replace(temporary, file, spec, deps);
  } finally {
    await giveUp();
  }
}

async function replace(
  temporary: string,
  file: string,
  { date }: SaveSpec,
  { published, clock }: TaskDeps,
): Promise<"published" | "exists"> {
  if (!(await published.take(file, date.getTime()))) return "exists";
  try {
    // Other processes recognise it as new by its modification time; that of its last byte may be before they began.
    const now = new Date(clock.now());
    await promises.utimes(temporary, now, now);
    await whileInUse(() => promises.rename(temporary, file));
    return "published";
  } catch (error) {
    await published.giveBack(file);
    throw error;
  }
}
