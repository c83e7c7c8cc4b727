import path from "node:path";
import { UndecodableError } from "../../graphics/decoder.ts";
import { pictureOf } from "../../graphics/picture.ts";
import type { Screen } from "../../graphics/terminal.ts";
import { errorText } from "../../lib/error-text.ts";
import { inspectFileAt } from "../../lib/image/inspect.ts";
import type { Session } from "../app/session.ts";
import { findScreen } from "./screen.ts";

/** One question to the terminal is enough for all pictures of a run. */
const screens = new WeakMap<Session, Promise<Screen>>();

/**
 * Shows images in the terminal, one below the other. A failure here is not an error of the command: the images are saved.
 * What cannot be shown is said in one line.
 */
export async function showInTerminal(files: readonly string[], session: Session): Promise<void> {
  const known = screens.get(session);
  const screen = known ?? findScreen(session);
  screens.set(session, screen);
  for (const file of files) {
    try {
      await session.console.picture(await picture(file, await screen));
    } catch (error) {
      const why = error instanceof UndecodableError ? error.message : errorText(error);
      await session.console.warn(`No preview of ${path.basename(file)}: ${why}.`);
    }
  }
}

async function picture(file: string, screen: Screen): Promise<string> {
  const inspection = await inspectFileAt(file);
  if (inspection.ok) return pictureOf(file, inspection.image, screen);
  const what = inspection.problem === "incomplete" ? "incomplete" : "not an image";
  throw new UndecodableError(`it is ${what}: ${inspection.detail}`);
}
