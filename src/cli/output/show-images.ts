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

/** In characters; `rows` is null for the height of the terminal. */
export interface Room {
  columns: number;
  rows: number | null;
}

/** The terminal is queried only once per run. */
const screens = new WeakMap<Session, Promise<Screen>>();

/** Shows several images as one grid. The images are already saved, so a failure is only a warning. */
export async function showInTerminal(
  files: readonly string[],
  maxRoom: Room | null,
  session: Session,
): Promise<void> {
  const screen = await getScreen(session);
  const images: DisplayImage[] = [];
  for (const file of files) {
    const image = await tryOrWarn(file, () => readImage(file), session);
    if (image !== null) images.push({ source: file, image });
  }
  // Reserves a row for each file name except one, because the graphics module reserves a row for one file name.
  const room = limitScreen(maxRoom, { ...screen, rows: screen.rows - (files.length - 1) });
  const grid = images.length > 1 ? await renderGrid(images, room).catch(() => null) : null;
  for (const each of grid === null ? images : [grid]) {
    const name = typeof each.source === "string" ? each.source : "";
    const picture = await tryOrWarn(name, () => renderPicture(each, room), session);
    if (picture !== null) await session.console.picture(picture);
  }
}

export function getScreen(session: Session): Promise<Screen> {
  const screen = screens.get(session) ?? detectSessionScreen(session);
  screens.set(session, screen);
  return screen;
}

function limitScreen(maxRoom: Room | null, screen: Screen): Screen {
  if (maxRoom === null) return screen;
  const { columns, rows } = maxRoom;
  return {
    ...screen,
    columns: Math.min(screen.columns, columns),
    rows: rows === null ? screen.rows : Math.min(screen.rows, rows + FREE_ROWS),
  };
}

async function tryOrWarn<Result>(
  file: string,
  work: () => Promise<Result>,
  { console }: Session,
): Promise<Result | null> {
  try {
    return await work();
  } catch (error) {
    const reason = error instanceof UndecodableError ? error.message : errorText(error);
    await console.warn(`No preview${file && ` of ${path.basename(file)}`}: ${reason}.`);
    return null;
  }
}

async function readImage(file: string): Promise<ImageInfo> {
  const inspection = inspectFile(file);
  if (inspection.ok) return inspection.image;
  throw new UndecodableError(`it is ${inspection.problem}: ${inspection.detail}`);
}

/** @param canQuery whether to send queries to the terminal */
export function detectSessionScreen({ context, console }: Session, canQuery = true): Promise<Screen> {
  const { stdout, env } = context;
  return detectScreen({
    env,
    columns: stdout.columns || 80,
    rows: stdout.rows || 24,
    hasColors: console.takesColors("stdout"),
    detectGraphics: context.detectEnvironmentGraphics,
    query: canQuery ? context.queryTerminal : async () => "",
  });
}

const OPENERS: { [Name in NodeJS.Platform]?: string } = { darwin: "open", win32: "explorer" };
const DEFAULT_OPENER = "xdg-open";

/** Time to wait for an opener to fail, in milliseconds. */
const OPENER_WAIT_MS = 500;

/** A failure is only a warning, because the files are already saved. */
export async function openInViewer(files: readonly string[], session: Session): Promise<void> {
  for (const file of files) {
    const problem = await open(file, session.context.env);
    if (problem === null) continue;
    await session.console.warn(`The image could not be opened: ${problem}.`);
    return;
  }
}

function open(file: string, env: Environment): Promise<string | null> {
  const opener = OPENERS[platform()] ?? DEFAULT_OPENER;
  return new Promise((resolve) => {
    const child = spawn(opener, [file], { env, stdio: "ignore", detached: true });
    child.unref();
    const timer = setTimeout(() => resolve(null), OPENER_WAIT_MS);
    const finish = (problem: string | null) => {
      clearTimeout(timer);
      resolve(problem);
    };
    child.on("error", ({ message }) => finish(`${opener} cannot be started (${message})`));
    // On Windows, Explorer always exits with code 1.
    child.on("exit", (code) =>
      finish(code && platform() !== "win32" ? `${opener} failed (exit code ${code})` : null),
    );
  });
}
