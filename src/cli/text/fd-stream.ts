import { constants, fstatSync, openSync, type Stats, write, writeSync } from "node:fs";
import { platform } from "node:os";
import { errorCode } from "../../lib/error-text.ts";
import type { OutputStream } from "./output-stream.ts";

/** An empty pipe holds so much. A write beyond that may have to wait for the reader, so it is made in the background. */
const PIPE_BYTES = 16 * 1024;
const BUSY_PIPE_PAUSE_MS = 5;

const NON_BLOCKING = constants.O_WRONLY | constants.O_NONBLOCK;

/**
 * Standard output or error as its file descriptor, if that is a file, a pipe or a socket: Node's own stream
 * for it takes 6 ms to set up, of the 40 that `--version` takes with it. Null for a terminal or another device.
 */
export function fdStream(fd: 1 | 2): OutputStream | null {
  const kind = plainKind(fd);
  if (kind === null) return null;
  const writeNow = kind.isFIFO() ? nonBlockingWrite(fd) : writeSync;
  let under: Promise<void> | null = null;
  let writtenBytes = 0;
  return {
    isPipe: kind.isFIFO() || kind.isSocket(),
    write(data, onDone) {
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      writtenBytes += bytes.length;
      const writeOn = writtenBytes > PIPE_BYTES ? writeSome : writeNow;
      // Written synchronously if no write is pending, so that the output is visible before the next step.
      const currentWrite =
        under === null ? writeAll(fd, bytes, writeOn) : under.then(() => writeAll(fd, bytes, writeOn));
      const notification = currentWrite.then(() => onDone(), onDone);
      under = notification;
      notification.then(() => {
        if (under === notification) under = null;
      });
      return true;
    },
  };
}

/** @returns null for a terminal or another device, which needs Node's own stream */
export function plainKind(fd: number): Stats | null {
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
    write(fd, bytes, (error, byteCount) => (error ? reject(error) : resolve(byteCount)));
  });
}
