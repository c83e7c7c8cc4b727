import { promises } from "node:fs";
import type { Command } from "commander";
import { openLedger } from "../../client/client-session.ts";
import { SHOW } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { type ImageOrigin, namesTask, originOf, originOfTask } from "../../core/engine/origin.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { fileSha256 } from "../../lib/file-digest.ts";
import { type ImageInfo, inspectFileAt } from "../../lib/image/inspect.ts";
import { shellWord } from "../../lib/shell-word.ts";
import { ownSettings } from "../../task/request.ts";
import { savedFilesOf } from "../../task/task.ts";
import type { Room } from "../output/show-images.ts";
import { openImages, previewImages, showsPictures } from "../output/viewing.ts";
import { addOptions } from "../session/add-options.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { creditsText, shortPath } from "../text/phrases.ts";

const EXAMPLES = `
Examples:
  $ imggen show a-fox-3f9c.png
  $ imggen show task_3f9c
  $ imggen show foxes/*.png --size 60
  $ imggen show task_3f9c --open`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<file|taskId...>", "image files, or ids of tasks whose images were saved");
  addOptions(command, SHOW).addHelpText("after", EXAMPLES).action(runWith(runShow));
}

interface ShownFile {
  path: string;
  image: ImageInfo;
}

/** What one argument names. */
interface Found {
  origin: ImageOrigin | null;
  files: ShownFile[];
}

async function runShow(
  session: Session,
  named: readonly string[],
  { open = false, size }: FlagsOf<typeof SHOW>,
): Promise<number> {
  const viewing = { preview: !open, open, room: size === undefined ? null : roomIn(size) };
  const found: Found[] = [];
  for (const what of named) found.push(await find(what, session));
  const files = found.flatMap((each) => each.files);
  const [only] = found;
  if (session.options.json)
    await session.console.json({
      ok: true,
      ...(only && found.length === 1 ? shownJson(only) : { images: found.map(shownJson) }),
    });
  else if (!showsPictures(session)) for (const { path } of files) await session.console.resultLine({ path });
  await previewImages(files, viewing, session);
  await openImages(files, viewing, session);
  if (!showsPictures(session)) return 0;
  await session.console.note(found.flatMap((each) => captions(each, session)));
  return 0;
}

/** `60`, or `60x20`. @throws UsageError */
function roomIn(size: string): Room {
  const [, columns, rows] = /^([1-9]\d{0,4})(?:[x×]([1-9]\d{0,4}))?$/i.exec(size) ?? [];
  if (columns === undefined)
    throw new UsageError(
      `--size ${JSON.stringify(size)} is neither a number of columns, such as 60, nor columns and rows, such as 60x20.`,
    );
  return { columns: Number(columns), rows: rows === undefined ? null : Number(rows) };
}

/** The files that are meant, and what they were made from, if that is known. @throws UsageError */
async function find(what: string, session: Session): Promise<Found> {
  const ledger = openLedger(session);
  const file = session.context.resolvePath(what);
  const isTask = await namesTask(what, ledger);
  const stats = isTask ? null : await promises.stat(file).catch(() => null);
  if (stats?.isFile()) {
    const sha256 = await fileSha256(file).catch((error) => {
      throw new UsageError(`${what} cannot be read: ${errorText(error)}.`, { cause: error });
    });
    return { origin: await originOf(file, sha256, ledger), files: [shownFile(file)] };
  }
  if (stats?.isDirectory())
    throw new UsageError(`${what} is a folder.`, {
      hint: `To look through its images: imggen gallery ${shellWord(what)}`,
    });
  const record = stats === null ? await ledger.find(what) : null;
  if (record === null)
    throw new UsageError(`There is neither an image file nor a task ${JSON.stringify(what)}.`, {
      hint: "To see the tasks of this machine: imggen history",
    });
  const paths = savedFilesOf(record).flatMap(({ path }) => path ?? []);
  if (paths.length === 0) {
    throw new UsageError(`No image of task ${what} is saved in a file.`, {
      hint: "imggen history shows the status of each task; imggen resume saves what is unfinished.",
    });
  }
  return { origin: originOfTask(record), files: paths.map(shownFile) };
}

/** @throws UsageError unless it is a whole image of a type that is known */
function shownFile(path: string): ShownFile {
  try {
    const inspection = inspectFileAt(path);
    if (inspection.ok) return { path, image: inspection.image };
    const what = inspection.problem === "incomplete" ? "incomplete" : "not an image that can be shown";
    throw new UsageError(`${path} is ${what}: ${inspection.detail}.`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read: ${errorText(error)}.`, { cause: error });
  }
}

function shownJson({ files, origin }: Found): object {
  const { taskId = null, request = null, credits = null } = origin ?? {};
  const shown = files.map(({ path, image: { mediaType, width, height } }) => ({
    path,
    mediaType,
    width,
    height,
  }));
  return { taskId, request, credits, files: shown };
}

/** Lines for a person: names and sizes of the images, and the request that made them. */
function captions({ files, origin }: Found, { context }: Session): string[] {
  const lines = files.map(
    ({ path, image: { width, height } }) => `${shortPath(path, context)} (${width}×${height})`,
  );
  if (origin === null) return lines;
  const { prompt, model, ratio, quality } = origin.request;
  const settings = Object.entries(
    ownSettings({ ...origin.request, seed: origin.seed ?? origin.request.seed }),
  ).map(([name, value]) => `${name}=${value}`);
  const facts = [model, ratio, quality, ...settings, creditsText(origin.credits, origin.free), origin.taskId];
  return [...lines, facts.filter((fact) => fact).join(", "), prompt];
}
