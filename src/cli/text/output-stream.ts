import { constants, fstatSync, openSync, type Stats, write, writeSync } from "node:fs";
import { platform } from "node:os";
import { InterruptedError } from "../../core/errors.ts";
import { errorCode, errorText } from "../../lib/error-text.ts";
import { ImggenError } from "../../lib/error-types.ts";

/** A stream that the program writes to, as much of it as it needs. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  /** Whether another program reads what is written. It may show it on the same terminal. */
  readonly isPipe?: boolean;
  /** Reports that the terminal's size has changed. */
  on?(event: "resize", listener: () => void): unknown;
  off?(event: "resize", listener: () => void): unknown;
  write(data: string | Uint8Array, done: (error?: Error | null) => void): boolean;
}

/** An empty pipe holds so much. A write beyond that may have to wait for the reader, so it is made in the background. */
const PIPE_BYTES = 16 * 1024;
const BUSY_PIPE_PAUSE_MS = 5;

const NON_BLOCKING = constants.O_WRONLY | constants.O_NONBLOCK;

/**
 * Standard output or error as its file descriptor, where that is a file, a pipe or a socket: Node's own stream
 * for it takes longer to set up than a short command takes to run. null for a terminal or another device.
 */
export function fdStream(fd: 1 | 2): OutputStream | null {
  const kind = plainKind(fd);
  if (kind === null) return null;
  const writeNow = kind.isFIFO() ? nonBlockingWrite(fd) : writeSync;
  let under: Promise<void> | null = null;
  let writtenBytes = 0;
  return {
    isPipe: kind.isFIFO() || kind.isSocket(),
    write(data, done) {
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      writtenBytes += bytes.length;
      const writeOn = writtenBytes > PIPE_BYTES ? writeSome : writeNow;
      // Written synchronously if no write is pending, so that the output is visible before the next step.
      const written =
        under === null ? writeAll(fd, bytes, writeOn) : under.then(() => writeAll(fd, bytes, writeOn));
      const told = written.then(() => done(), done);
      under = told;
      told.then(() => {
        if (under === told) under = null;
      });
      return true;
    },
  };
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

/** How long a write may take after a signal. */
const WRITE_AFTER_SIGNAL_MS = 500;

/** The streams to which nothing is written any more, because their readers have stopped reading. */
const unread = new WeakSet<OutputStream>();

/**
 * As `writeTo`. After a signal a write that is not done within half a second is given up, and so is every later one to
 * that stream: a reader that has stopped reading must not keep the program from its end.
 * @returns the signal's reason, where it was given up
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
    const written = writeTo(stream, data);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort, { once: true });
    void written.then((error) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      resolve(error);
    });
  });
}

/** Whether a write failed because the reader has gone away. Windows answers EOF where a pipe was closed. */
export function isClosedPipe(error: unknown, onPlatform: NodeJS.Platform = platform()): boolean {
  const code = errorCode(error);
  return code === "EPIPE" || (code === "EOF" && onPlatform === "win32");
}

/** null for what needs Node's own stream. */
function plainKind(fd: number): Stats | null {
  try {
    const kind = fstatSync(fd);
    return kind.isFile() || kind.isFIFO() || kind.isSocket() || isMemoryDevice(kind) ? kind : null;
  } catch {
    return null;
  }
}

/** /dev/null and its like, on Linux: never a terminal. */
function isMemoryDevice(kind: Stats): boolean {
  return platform() === "linux" && kind.isCharacterDevice() && kind.rdev >> 8 === 1;
}

type Write = (fd: number, bytes: Uint8Array) => number | Promise<number>;

/**
 * Writes to a pipe at once if it has room, and in the background if not: other programs may have filled it, and a write
 * that blocks would keep signals from being handled. Only Linux opens a pipe again, for writes that never block;
 * elsewhere the first 16 KiB block if the pipe is full.
 */
function nonBlockingWrite(fd: 1 | 2): Write {
  if (platform() !== "linux") return writeSync;
  let reopened: number;
  try {
    reopened = openSync(`/proc/self/fd/${fd}`, NON_BLOCKING);
  } catch {
    return writeSync;
  }
  return (_fd, bytes) => {
    try {
      return writeSync(reopened, bytes);
    } catch (error) {
      if (errorCode(error) !== "EAGAIN") throw error;
      return writeSome(fd, bytes);
    }
  };
}

async function writeAll(fd: number, bytes: Uint8Array, writeOn: Write): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += await writeOn(fd, bytes.subarray(at));
    } catch (error) {
      // Another process has made the pipe non-blocking, and it is full.
      if (errorCode(error) !== "EAGAIN") throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_PIPE_PAUSE_MS));
    }
  }
}

function writeSome(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, (error, written) => (error ? reject(error) : resolve(written)));
  });
}

/** The error for a result that was still waiting for its reader when a signal came. */
export function unreadError(reason: InterruptedError): InterruptedError {
  return new InterruptedError(reason.signal, {
    hint: "Standard output was not read, so the result is incomplete. What was saved or stored is safe: imggen history shows it.",
    charged: "unknown",
    cause: reason,
  });
}

/** Standard output could not take the result. */
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
