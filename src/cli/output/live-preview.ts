import { canReplace, type ReplaceablePicture, renderReplaceablePicture } from "../../graphics/picture.ts";
import type { Screen } from "../../graphics/terminal.ts";
import type { Session } from "../session/session.ts";
import { writeTo } from "../text/output-stream.ts";
import { getScreen } from "./show-images.ts";

export interface LivePreview {
  /** Shows a preview frame. Skips a frame that cannot be decoded, or that arrives while another frame is drawn. */
  show(image: Buffer): void;
  /** Erases the frame. The status line below the frame must be stopped first. */
  stop(): void;
}

/** @returns null if the terminal cannot replace an image */
export async function createLivePreview(session: Session): Promise<LivePreview | null> {
  const screen = await getScreen(session);
  return canReplace(screen) ? livePreview(session, screen) : null;
}

function livePreview({ console, context }: Session, screen: Screen): LivePreview {
  let currentPicture: ReplaceablePicture | null = null;
  let isBusy = false;
  let isStopped = false;
  const erase = () => {
    if (currentPicture !== null) void writeTo(context.stderr, currentPicture.erase);
    currentPicture = null;
  };
  // Other output would appear between the frame and the status line, so the frame is erased first.
  const { beforeWrite } = console;
  console.beforeWrite = () => {
    beforeWrite();
    erase();
  };
  const removeSuspendListeners = context.onSuspend(erase, () => {});
  const stop = () => {
    isStopped = true;
    removeSuspendListeners();
    erase();
  };
  const { onSecondSignal } = context;
  context.onSecondSignal = (reason) => {
    stop();
    return onSecondSignal(reason);
  };
  const draw = async (image: Buffer) => {
    const picture = await renderReplaceablePicture(image, screen);
    if (isStopped || !context.isInForeground()) return;
    const drawn = console.picture(picture.draw, "stderr");
    currentPicture = picture;
    await drawn;
  };
  return {
    show(image) {
      if (isBusy || isStopped) return;
      isBusy = true;
      // The status line still shows the progress, so a failure is ignored.
      const onDrawn = () => {
        isBusy = false;
      };
      draw(image).then(onDrawn, onDrawn);
    },
    stop,
  };
}
