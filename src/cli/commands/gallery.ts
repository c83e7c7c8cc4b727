import path from "node:path";
import type { Command } from "commander";
import { openLedger } from "../../client/client-session.ts";
import { GALLERY } from "../../client/options/command-table.ts";
import type { FlagsOf } from "../../client/options/option.ts";
import { profilesByService } from "../../client/profile-of-service.ts";
import { buildGallery, type Gallery } from "../../gallery/build.ts";
import { UsageError } from "../../lib/error-types.ts";
import { joinFirst } from "../../lib/short-text.ts";
import { pluralize } from "../../lib/whole-number.ts";
import { createStatusLine } from "../output/status-line.ts";
import { openImages } from "../output/viewing.ts";
import { addOptions } from "../session/add-options.ts";
import type { Answer, RunWith } from "../session/command.ts";
import type { Session } from "../session/session.ts";

const EXAMPLES = `
Examples:
  $ imggen gallery
  $ imggen gallery pictures/ --open
  $ imggen gallery pictures/ --inline --output shared.html`;

export function register(command: Command, runWith: RunWith): void {
  command.argument("[dir]", "folder of images, searched with its subfolders (default: the current folder)");
  addOptions(command, GALLERY).addHelpText("after", EXAMPLES).action(runWith(runGallery));
}

async function runGallery(session: Session, dir = ".", flags: FlagsOf<typeof GALLERY>): Promise<Answer> {
  const { context } = session;
  if (flags.output === "-") throw new UsageError("imggen gallery does not support --output -. Give a file.");
  const folder = context.resolvePath(dir);
  const page =
    flags.output === undefined ? path.join(folder, "gallery.html") : context.resolvePath(flags.output);
  const line = await createStatusLine(session);
  const gallery = await buildGallery({
    folder,
    page,
    inline: flags.inline === true,
    overwrite: flags.overwrite === true,
    ledger: openLedger(session),
    findProfile: profilesByService(session.folders.config),
    signal: context.signal,
    onProgress: (count, total) => line.set(`${count} of ${total} images`),
  }).finally(() => line.stop());
  const { images, unreadable, newThumbnails: thumbnailsMade } = gallery;
  return {
    json: { ok: true, page, images: images.length, thumbnailsMade, unreadable },
    show: () => show(page, gallery, session),
    after: () => openImages([{ path: page }], { preview: false, open: flags.open === true }, session),
  };
}

const MAX_SHOWN_FILES = 3;

async function show(
  page: string,
  { images, unreadable, newThumbnails, hasDecoder }: Gallery,
  session: Session,
): Promise<void> {
  const { console } = session;
  await console.resultLine({ path: page });
  if (!hasDecoder)
    await console.warn(
      "Without the optional package sharp there are no thumbnails, so the page loads the full images.",
    );
  if (unreadable.length > 0) {
    const descriptions = unreadable.map(({ name, why }) => `${name} (${why})`);
    await console.warn(
      `Skipped, because the files cannot be read: ${joinFirst(descriptions, MAX_SHOWN_FILES)}.`,
    );
  }
  await console.note(`${pluralize(images.length, "image")}, ${pluralize(newThumbnails, "new thumbnail")}.`);
}
