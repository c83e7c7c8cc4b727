import { promises } from "node:fs";
import type { Command } from "commander";
import { openLedger } from "../../client/session.ts";
import { type ImageOrigin, namesTask, originOf, originOfTask } from "../../core/task/origin.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { fileSha256 } from "../../lib/file-digest.ts";
import { type ImageInfo, inspectFileAt } from "../../lib/image/inspect.ts";
import { addOpenOption, openImages, previewImages, showsPictures } from "../flags/view-flags.ts";
import type { RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { creditsText, shortPath } from "../text/phrases.ts";

const EXAMPLES = `
Examples:
  $ imggen show a-fox-3f9c.png
  $ imggen show task_3f9c
  $ imggen show task_3f9c --open`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("<file|taskId>", "an image file, or the id of a task whose images were saved");
  addOpenOption(command, "open it with the system's viewer")
    .addHelpText("after", EXAMPLES)
    .action(runWith(runShow));
}

interface ShownFile {
  path: string;
  image: ImageInfo;
}

async function runShow(
  session: Session,
  what: string,
  { open = false }: { open?: boolean },
): Promise<number> {
  const { origin, paths } = await findImages(what, session);
  const files: ShownFile[] = [];
  for (const path of paths) files.push({ path, image: await readImage(path) });
  if (session.options.json) await session.console.json(shownJson(files, origin));
  else if (!showsPictures(session)) for (const { path } of files) await session.console.resultLine({ path });
  await previewImages(files, { preview: !open, open }, session);
  await openImages(files, { preview: !open, open }, session);
  if (showsPictures(session)) await session.console.note(captions(files, origin, session));
  return 0;
}

/** The files that are meant, and what they were made from, if that is known. @throws UsageError */
async function findImages(
  what: string,
  session: Session,
): Promise<{ origin: ImageOrigin | null; paths: string[] }> {
  const ledger = openLedger(session);
  const file = session.context.resolvePath(what);
  const isTask = await namesTask(what, ledger);
  const stats = isTask ? null : await promises.stat(file).catch(() => null);
  if (stats?.isFile()) {
    const sha256 = await fileSha256(file).catch((error) => {
      throw new UsageError(`${what} cannot be read: ${errorText(error)}.`, { cause: error });
    });
    return { origin: await originOf(file, sha256, ledger), paths: [file] };
  }
  const record = stats === null ? await ledger.find(what) : null;
  if (record === null)
    throw new UsageError(`There is neither an image file nor a task ${JSON.stringify(what)}.`, {
      hint: "To see the tasks of this machine: imggen history",
    });
  const saved = record.state.name === "saved" ? record.state.files : [];
  const paths = saved.flatMap(({ path }) => path ?? []);
  if (paths.length === 0) {
    throw new UsageError(`No image of task ${what} is saved in a file.`, {
      hint: "imggen history shows the status of each task; imggen resume saves what is unfinished.",
    });
  }
  return { origin: originOfTask(record), paths };
}

/** @throws UsageError unless it is a whole image of a type that is known */
async function readImage(path: string): Promise<ImageInfo> {
  try {
    const inspection = inspectFileAt(path);
    if (inspection.ok) return inspection.image;
    const what = inspection.problem === "incomplete" ? "incomplete" : "not an image that can be shown";
    throw new UsageError(`${path} is ${what}: ${inspection.detail}.`);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read: ${errorText(error)}.`, { cause: error });
  }
}

function shownJson(files: readonly ShownFile[], origin: ImageOrigin | null): object {
  const { taskId = null, request = null, credits = null } = origin ?? {};
  const shown = files.map(({ path, image: { mediaType, width, height } }) => ({
    path,
    mediaType,
    width,
    height,
  }));
  return { ok: true, taskId, request, credits, files: shown };
}

/** What a person wants to know of the images: names and sizes, and what they were made from. */
function captions(files: readonly ShownFile[], origin: ImageOrigin | null, { context }: Session): string[] {
  const lines = files.map(
    ({ path, image: { width, height } }) => `${shortPath(path, context)} (${width}×${height})`,
  );
  if (origin === null) return lines;
  const { prompt, model, ratio, quality } = origin.request;
  const facts = [model, ratio, quality, creditsText(origin.credits, origin.free), origin.taskId];
  return [...lines, facts.filter((fact) => fact).join(", "), prompt];
}
