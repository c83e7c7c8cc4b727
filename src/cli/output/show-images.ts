import { spawn } from "node:child_process";
import { platform } from "node:os";
import path from "node:path";
import type { Environment } from "../../client/this-process.ts";
import { UndecodableError } from "../../graphics/decoder.ts";
import { type DisplayImage, renderGrid, renderPicture } from "../../graphics/picture.ts";
import { detectScreen, FREE_ROWS, type Screen } from "../../graphics/terminal.ts";
import { errorText } from "../../lib/error-text.ts";
import { type ImageInfo, inspectFile } from "../../lib/image/inspect.ts";
import type { Session } from "../session/session.ts";

/** Maximum size of pictures, in characters; null: as many rows as the terminal has. */
export interface Room {
  columns: number;
  rows: number | null;
}

/** One question to the terminal is enough for all pictures of a run. */
const screens = new WeakMap<Session, Promise<Screen>>();

/**
 * Shows images in the terminal, several as one grid. A failure here is not an error of the command: the images are
 * saved. What cannot be shown is said in one line.
 */
export async function showInTerminal(
  files: readonly string[],
  maxRoom: Room | null,
  session: Session,
): Promise<void> {
  const screen = await screenFor(session);
  const images: DisplayImage[] = [];
  for (const file of files) {
    const image = await tryOrWarn(file, () => imageIn(file), session);
    if (image !== null) images.push({ source: file, image });
  }
  // Below the picture each file is named; `graphics` leaves room for one.
  const room = within(maxRoom, { ...screen, rows: screen.rows - (files.length - 1) });
  const grid = images.length > 1 ? await renderGrid(images, room).catch(() => null) : null;
  for (const each of grid === null ? images : [grid]) {
    const name = typeof each.source === "string" ? each.source : "";
    const picture = await tryOrWarn(name, () => renderPicture(each, room), session);
    if (picture !== null) await session.console.picture(picture);
  }
}

/** Picture support of this run's terminal, detected once. */
export function screenFor(session: Session): Promise<Screen> {
  const screen = screens.get(session) ?? findScreen(session);
  screens.set(session, screen);
  return screen;
}

function within(maxRoom: Room | null, screen: Screen): Screen {
  if (maxRoom === null) return screen;
  const { columns, rows } = maxRoom;
  return {
    ...screen,
    columns: Math.min(screen.columns, columns),
    rows: rows === null ? screen.rows : Math.min(screen.rows, rows + FREE_ROWS),
  };
}

/** @returns null on a failure, after a warning */
async function tryOrWarn<Result>(
  file: string,
  work: () => Promise<Result>,
  { console }: Session,
): Promise<Result | null> {
  try {
    return await work();
  } catch (error) {
    const why = error instanceof UndecodableError ? error.message : errorText(error);
    await console.warn(`No preview${file && ` of ${path.basename(file)}`}: ${why}.`);
    return null;
  }
}

async function imageIn(file: string): Promise<ImageInfo> {
  const inspection = inspectFile(file);
  if (inspection.ok) return inspection.image;
  throw new UndecodableError(`it is ${inspection.problem}: ${inspection.detail}`);
}

/** Detects the picture support of the terminal. @param mayAsk whether it may be sent queries */
export function findScreen({ context, console }: Session, mayAsk = true): Promise<Screen> {
  const { stdout, env } = context;
  return detectScreen({
    env,
    columns: stdout.columns || 80,
    rows: stdout.rows || 24,
    hasColors: console.takesColors("stdout"),
    detectGraphics: context.namedGraphics,
    query: mayAsk ? context.queryTerminal : async () => "",
  });
}

/** The command that opens a file as a double click would. */
const OPENERS: { [Name in NodeJS.Platform]?: string } = { darwin: "open", win32: "explorer" };
const USUAL_OPENER = "xdg-open";

/** Long enough for an opener that cannot open the file to exit with an error. */
const OPENING_MS = 500;

/** Opens files with the system's viewer. Where that fails, it is a warning. */
export async function openInViewer(files: readonly string[], session: Session): Promise<void> {
  for (const file of files) {
    const problem = await open(file, session.context.env);
    if (problem === null) continue;
    await session.console.warn(`The image could not be opened: ${problem}.`);
    return;
  }
}

/** @returns what went wrong; null for nothing */
function open(file: string, env: Environment): Promise<string | null> {
  const opener = OPENERS[platform()] ?? USUAL_OPENER;
  return new Promise((resolve) => {
    const child = spawn(opener, [file], { env, stdio: "ignore", detached: true });
    child.unref();
    const timer = setTimeout(() => resolve(null), OPENING_MS);
    const end = (problem: string | null) => {
      clearTimeout(timer);
      resolve(problem);
    };
    child.on("error", ({ message }) => end(`${opener} cannot be started (${message})`));
    // Explorer always ends with 1.
    child.on("exit", (code) =>
      end(code && platform() !== "win32" ? `${opener} failed (exit code ${code})` : null),
    );
  });
}
