import type { FlagsOf } from "../../client/options/option.ts";
import type { VIEW } from "../../client/options/task-table.ts";
import type { SavedFile } from "../../task/saved-file.ts";
import type { Session } from "../session/session.ts";
import type { Room } from "./show-images.ts";

/** Display of saved images. Parsed before anything is charged: a setting may be wrong. */
export interface Viewing {
  preview: boolean;
  open: boolean;
  /** Default: the terminal. */
  room?: Room | null;
}

/** @throws UsageError if the setting is neither true nor false */
export function parseViewing({ preview, open = false }: FlagsOf<typeof VIEW>, session: Session): Viewing {
  return { preview: session.settings.isOn("preview", preview), open };
}

/** Whether pictures can be shown at all: never off a terminal. */
export function showsPictures({ context, options }: Session): boolean {
  return context.stdout.isTTY === true && options.json !== true;
}

type Viewed = readonly Pick<SavedFile, "path">[];

/**
 * Shows saved images in the terminal. Names and costs are printed after them, or they leave the screen. Whatever goes
 * wrong is a warning at most.
 */
export async function previewImages(
  files: Viewed,
  { preview, room = null }: Viewing,
  session: Session,
): Promise<void> {
  const paths = files.flatMap(({ path }) => path ?? []);
  if (!preview || paths.length === 0 || !showsPictures(session)) return;
  const { showInTerminal } = await import("./show-images.ts");
  await showInTerminal(paths, room, session);
}

/** Opens saved images with the system's viewer. Whatever goes wrong is a warning. */
export async function openImages(files: Viewed, { open }: Viewing, session: Session): Promise<void> {
  const paths = files.flatMap(({ path }) => path ?? []);
  if (!open || paths.length === 0) return;
  const { openInViewer } = await import("./show-images.ts");
  await openInViewer(paths, session);
}
