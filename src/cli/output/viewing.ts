import type { FlagsOf } from "../../client/options/option.ts";
import type { VIEW } from "../../client/options/task-table.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { Session } from "../session/session.ts";
import type { Room } from "./show-images.ts";

/** Parsed before the submit, so that an invalid setting costs nothing. */
export interface DisplayOptions {
  preview: boolean;
  open: boolean;
  /** Default: the size of the terminal. */
  room?: Room | null;
}

/** @throws UsageError if the setting `preview` is neither true nor false */
export function parseDisplayOptions(
  { preview, open = false }: FlagsOf<typeof VIEW>,
  session: Session,
): DisplayOptions {
  return { preview: session.settings.isOn("preview", preview), open };
}

export function showsPictures({ context, options }: Session): boolean {
  return context.stdout.isTTY === true && options.json !== true;
}

type DisplayedFiles = readonly Pick<SavedFile, "path">[];

/** Must be called before paths and costs are printed, because images would push earlier text off the screen. */
export async function previewImages(
  files: DisplayedFiles,
  { preview, room = null }: DisplayOptions,
  session: Session,
): Promise<void> {
  const paths = files.flatMap(({ path }) => path ?? []);
  if (!preview || paths.length === 0 || !showsPictures(session)) return;
  const { showInTerminal } = await import("./show-images.ts");
  await showInTerminal(paths, room, session);
}

export async function openImages(
  files: DisplayedFiles,
  { open }: DisplayOptions,
  session: Session,
): Promise<void> {
  const paths = files.flatMap(({ path }) => path ?? []);
  if (!open || paths.length === 0) return;
  const { openInViewer } = await import("./show-images.ts");
  await openInViewer(paths, session);
}
