import type { Command } from "commander";
import { SHOW } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import type { FoundImages } from "../../client/shown-images.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { Room } from "../output/show-images.ts";
import { openImages, previewImages, showsPictures } from "../output/viewing.ts";
import { addOptions } from "../session/add-options.ts";
import type { Answer, RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";
import { creditsText, shortPath } from "../text/phrases.ts";

const EXAMPLES = `
Examples:
  $ imggen show
  $ imggen show a-fox-3f9c.png
  $ imggen show task_3f9c
  $ imggen show foxes/*.png --size 60
  $ imggen show task_3f9c --open`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[file|taskId...]", "image files, or ids of saved tasks (default: the newest image)");
  addOptions(command, SHOW).addHelpText("after", EXAMPLES).action(runWith(runShow));
}

async function runShow(
  session: Session,
  names: readonly string[],
  { open = false, size }: FlagsOf<typeof SHOW>,
): Promise<Answer> {
  const display = { preview: !open, open, room: size === undefined ? null : parseSize(size) };
  const { findImages, newestImage } = await import("../../client/shown-images.ts");
  const images: FoundImages[] = names.length === 0 ? [await newestImage(session)] : [];
  for (const fileOrTaskId of names) images.push(await findImages(fileOrTaskId, session));
  const files = images.flatMap((each) => each.files);
  const [only] = images;
  return {
    json: {
      ok: true,
      ...(only && images.length === 1 ? shownJson(only) : { images: images.map(shownJson) }),
    },
    async show() {
      if (showsPictures(session)) return;
      for (const { path } of files) await session.console.resultLine({ path });
    },
    async after() {
      await previewImages(files, display, session);
      await openImages(files, display, session);
      if (showsPictures(session))
        await session.console.note(images.flatMap((each) => captions(each, session)));
    },
  };
}

/** Parses `60` or `60x20`. @throws UsageError */
function parseSize(size: string): Room {
  const [, columns, rows] = /^([1-9]\d{0,4})(?:[x×]([1-9]\d{0,4}))?$/i.exec(size) ?? [];
  if (columns === undefined)
    throw new UsageError(
      `--size ${JSON.stringify(size)} is invalid. Give columns, such as 60, or columns and rows, such as 60x20.`,
    );
  return { columns: Number(columns), rows: rows === undefined ? null : Number(rows) };
}

function shownJson({ files, origin }: FoundImages): object {
  const { taskId = null, request = null, credits = null } = origin ?? {};
  const fileFacts = files.map(({ path, seed, image: { mediaType, width, height } }) => ({
    path,
    mediaType,
    width,
    height,
    ...(seed !== null && { seed }),
  }));
  return { taskId, request, credits, files: fileFacts };
}

function captions({ files, origin, settings }: FoundImages, { context }: Session): string[] {
  const lines = files.map(
    ({ path, seed, image: { width, height } }) =>
      `${shortPath(path, context)} (${width}×${height}${seed === null ? "" : `, seed ${seed}`})`,
  );
  if (origin === null) return lines;
  const { prompt, model, ratio, quality } = origin.request;
  const settingTexts = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
  const facts = [
    model,
    ratio,
    quality,
    ...settingTexts,
    creditsText(origin.credits, origin.free),
    origin.taskId,
  ];
  return [...lines, facts.filter((fact) => fact).join(", "), prompt];
}
