import { platform } from "node:os";
import { errorCode, errorText } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/error-types.ts";
import { InterruptedError } from "../../lib/interrupted.ts";

export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** Whether the stream is a pipe to another program, such as `tee`, which might write to the same terminal. */
  readonly isPipe?: boolean;
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
  write(data: string | Uint8Array, onDone: (error?: Error | null) => void): boolean;
}

/** @returns the error, or null */
export function writeTo(stream: OutputStream, data: string | Uint8Array): Promise<Error | null> {
  return new Promise((resolve) => {
    try {
      stream.write(data, (error) => resolve(error ?? null));
    } catch (error) {
      resolve(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

const WRITE_AFTER_SIGNAL_MS = 500;

const unreadStreams = new WeakSet<OutputStream>();

/**
 * Writes as `writeTo` does. After a signal, abandons a write that takes more than half a second, and every later write
 * to the stream, because a reader that has stopped reading must not prevent the exit.
 * @returns the error, or the signal's reason if the write was abandoned
 */
export async function writeToReader(
  stream: OutputStream,
  data: string | Uint8Array,
  signal: AbortSignal,
): Promise<Error | null> {
  if (unreadStreams.has(stream)) return signal.reason;
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const giveUp = () => {
      unreadStreams.add(stream);
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

/** Whether a write failed because the reader has closed the pipe. Windows reports EOF in this case. */
export function isClosedPipe(error: unknown, osName: NodeJS.Platform = platform()): boolean {
  const code = errorCode(error);
  return code === "EPIPE" || (code === "EOF" && osName === "win32");
}

export function unreadError(reason: InterruptedError): InterruptedError {
  return new InterruptedError(reason.signal, {
    hint: "The result is incomplete, because standard output was not read. No saved image is lost. To list tasks and images: imggen history",
    charged: "unknown",
    cause: reason,
  });
}

/** Failure to write a result to standard output after the work was done. `cause` is the stream's error. */
export class OutputError extends ImggenError {
  readonly type = "save_failed";

  constructor(cause: Error) {
    super(`Standard output could not be written: ${errorText(cause)}.`, {
      hint: "No saved image is lost. To list tasks and images: imggen history",
      charged: "unknown",
      cause,
    });
  }
}
