import { canReplace, type ReplaceablePicture, replaceablePicture } from "../../graphics/picture.ts";
import type { Screen } from "../../graphics/terminal.ts";
import type { Session } from "../session/session.ts";
import { writeTo } from "../text/output-stream.ts";
import { screenFor } from "./show-images.ts";

/** A task's image as it is so far, above the status line: each picture in the place of the last. */
export interface LivePreview {
  /** Shows what may be an image; what is none, or cannot be shown in time, is left out. */
  show(image: Buffer): void;
  /** Leaves nothing of it on the screen. The status line has been stopped. */
  stop(): void;
}

/** @returns null for a terminal that cannot replace a picture */
export async function createLivePreview(session: Session): Promise<LivePreview | null> {
  const screen = await screenFor(session);
  return canReplace(screen) ? livePreview(session, screen) : null;
}

function livePreview({ console, context }: Session, screen: Screen): LivePreview {
  let currentPicture: ReplaceablePicture | null = null;
  let isBusy = false;
  let isOver = false;
  const erase = () => {
    if (currentPicture !== null) void writeTo(context.stderr, currentPicture.erase);
    currentPicture = null;
  };
  // Whatever else is written would come between the picture and the status line.
  const { beforeWrite } = console;
  console.beforeWrite = () => {
    beforeWrite();
    erase();
  };
  const endSuspending = context.onSuspend(erase, () => {});
  const stop = () => {
    isOver = true;
    endSuspending();
    erase();
  };
  const { onSecondSignal } = context;
  context.onSecondSignal = (reason) => {
    stop();
    return onSecondSignal(reason);
  };
  const draw = async (image: Buffer) => {
    const picture = await replaceablePicture(image, screen);
    if (isOver || !context.isInForeground()) return;
    const drawn = console.picture(picture.draw, "stderr");
    currentPicture = picture;
    await drawn;
  };
  return {
    show(image) {
      if (isBusy || isOver) return;
      isBusy = true;
      // The share is shown all the same.
      const onDrawn = () => {
        isBusy = false;
      };
      draw(image).then(onDrawn, onDrawn);
    },
    stop,
  };
}
