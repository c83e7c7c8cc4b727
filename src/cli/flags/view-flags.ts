import type { Command } from "commander";
import type { SavedFile } from "../../task/saved-file.ts";
import type { Room } from "../output/show-images.ts";
import type { Session } from "../session/session.ts";

/** Flags of every command that saves images a person may want to see. */
export interface ViewFlags {
  preview?: boolean;
  open?: boolean;
}

/** How saved images are shown. Settled before anything is charged: a setting may be wrong. */
export interface Viewing extends Required<ViewFlags> {
  /** Default: the terminal. */
  room?: Room | null;
}

export function addPreviewOption(command: Command): Command {
  return command.option("--preview", "show the images in the terminal");
}

export function addOpenOption(command: Command, what = "open the images with the system's viewer"): Command {
  return command.option("--open", what);
}

/** @throws UsageError where the config says neither true nor false */
export function viewingOf({ preview, open = false }: ViewFlags, session: Session): Viewing {
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
  const { showInTerminal } = await import("../output/show-images.ts");
  await showInTerminal(paths, room, session);
}

/** Opens saved images with the system's viewer. Whatever goes wrong is a warning. */
export async function openImages(files: Viewed, { open }: Viewing, session: Session): Promise<void> {
  const paths = files.flatMap(({ path }) => path ?? []);
  if (!open || paths.length === 0) return;
  const { openInViewer } = await import("../output/show-images.ts");
  await openInViewer(paths, session);
}
