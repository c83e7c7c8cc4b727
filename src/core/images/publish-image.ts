import { promises } from "node:fs";
import { isFileOf } from "../../lib/file-digest.ts";
import { publish } from "../../lib/publish.ts";
import { whileInUse } from "../../lib/while-in-use.ts";
import type { TaskDeps } from "../deps.ts";
import type { DownloadedImage } from "./download-image.ts";
import { numberedPath } from "./file-name.ts";
import { claimName } from "./reserve-name.ts";
import type { SaveOrder, SaveResult } from "./save-order.ts";

/** Publishes under the first free number; with `--overwrite`, under the image's own number. */
export async function publishNumbered(
  fetched: DownloadedImage,
  wanted: string,
  index: number,
  order: SaveOrder,
  { files }: SaveResult,
  deps: TaskDeps,
): Promise<string> {
  const { destination } = order;
  const numberedByTemplate = destination.kind !== "file" && destination.template.includes("{index}");
  for (let number = numberedByTemplate ? 1 : index; ; number++) {
    const file = numberedPath(wanted, number);
    if ((await publishAs(fetched.temporary, file, order, deps)) === "published") return file;
    // If two images of a task are equal, the first one's file must not count as the second's.
    const isOurs = files.some((saved) => saved?.path === file);
    if (order.recovering && !isOurs && (await isFileOf(file, fetched))) {
      await whileInUse(() => promises.unlink(fetched.temporary));
      return file;
    }
  }
}

async function publishAs(
  temporary: string,
  file: string,
  order: SaveOrder,
  deps: TaskDeps,
): Promise<"published" | "exists"> {
  const reserve = (name: string) => claimName(name, deps.ledger.processes);
  if (!order.destination.overwrite) return publish(temporary, file, reserve);
  // Without the reservation, two processes that both find an old file would replace each other's image.
  const giveUp = await reserve(file);
  if (giveUp === null) return "exists";
  try {
    return await replace(temporary, file, order, deps);
  } finally {
    await giveUp();
  }
}

async function replace(
  temporary: string,
  file: string,
  { date }: SaveOrder,
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
