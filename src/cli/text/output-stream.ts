import { platform } from "node:os";
import { errorCode, errorText } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { InterruptedError } from "../../lib/interrupted.ts";

/** A stream that the program writes to, as much of it as it needs. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** Whether another program reads the stream. It may show it on the same terminal. */
  readonly isPipe?: boolean;
  /** Reports that the terminal's size has changed. */
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
  write(data: string | Uint8Array, onDone: (error?: Error | null) => void): boolean;
}

/** Writes to a stream, and waits until that is done. @returns the error; null if there was none */
export function writeTo(stream: OutputStream, data: string | Uint8Array): Promise<Error | null> {
  return new Promise((resolve) => {
    try {
      stream.write(data, (error) => resolve(error ?? null));
    } catch (error) {
      resolve(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

/** Timeout of a write after a signal. */
const WRITE_AFTER_SIGNAL_MS = 500;

/** Streams that are no longer written to, because their readers have stopped reading. */
const unread = new WeakSet<OutputStream>();

/**
 * Writes as `writeTo` does. After a signal a write that is not done within half a second is given up, as is every later one to
 * that stream: a reader that has stopped reading must not keep the program from its end.
 * @returns the signal's reason if it was given up
 */
export async function writeToReader(
  stream: OutputStream,
  data: string | Uint8Array,
  signal: AbortSignal,
): Promise<Error | null> {
  if (unread.has(stream)) return signal.reason;
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = () => {
      unread.add(stream);
      resolve(signal.reason);
    };
    const onAbort = () => {
      timer = setTimeout(giveUp, WRITE_AFTER_SIGNAL_MS);
    };
    const currentWrite = writeTo(stream, data);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    void currentWrite.then((error) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve(error);
    });
  });
}

/** Whether a write failed because the reader has gone away. Windows reports EOF for a closed pipe. */
export function isClosedPipe(error: unknown, onPlatform: NodeJS.Platform = platform()): boolean {
  const code = errorCode(error);
  return code === "EPIPE" || (code === "EOF" && onPlatform === "win32");
}

/** The error for a result that was still waiting for its reader when a signal came. */
export function unreadError(reason: InterruptedError): InterruptedError {
  return new InterruptedError(reason.signal, {
    hint: "Standard output was not read, so the result is incomplete. What was saved or stored is safe: imggen history shows it.",
    charged: "unknown",
    cause: reason,
  });
}

/** Standard output could not take the result. Thrown by the console, after the work is done; `cause` is the stream's error. */
export class OutputError extends ImggenError {
  readonly type = "save_failed";

  constructor(cause: Error) {
    super(`Standard output could not be written: ${errorText(cause)}.`, {
      hint: "What was saved or stored is safe: imggen history shows it.",
      charged: "unknown",
      cause,
    });
  }
}
