import { fstatSync, type Stats, write, writeSync } from "node:fs";
import { platform } from "node:os";
import { errorCode } from "../../lib/error-code.ts";

/** A stream that the program writes to, as much of it as it needs. */
export interface OutputStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(data: string | Uint8Array, done: (error?: Error | null) => void): boolean;
}

/** What is longer may fill a pipe, and is then written without holding everything else up. */
const SHORT_BYTES = 16 * 1024;
const BUSY_PIPE_PAUSE_MS = 5;

/**
 * Standard output or error as its file descriptor, where that is a file, a pipe or a socket: Node's own stream
 * for it takes longer to set up than a short command takes to run. null for a terminal or another device.
 */
export function fdStream(fd: 1 | 2): OutputStream | null {
  if (!isPlain(fd)) return null;
  let under: Promise<void> | null = null;
  return {
    write(data, done) {
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      // At once, where nothing is under way: what was said is out before the next thing is done.
      const written = under === null ? writeAll(fd, bytes) : under.then(() => writeAll(fd, bytes));
      const told = written.then(() => done(), done);
      under = told;
      told.then(() => {
        if (under === told) under = null;
      });
      return true;
    },
  };
}

/** Whether a write failed because the reader has gone away. Windows answers EOF where a pipe was closed. */
export function isClosedPipe(error: unknown, onPlatform: NodeJS.Platform = platform()): boolean {
  const code = errorCode(error);
  return code === "EPIPE" || (code === "EOF" && onPlatform === "win32");
}

function isPlain(fd: number): boolean {
  try {
    const kind = fstatSync(fd);
    return kind.isFile() || kind.isFIFO() || kind.isSocket() || isMemoryDevice(kind);
  } catch {
    return false;
  }
}

/** /dev/null and its like, on Linux: never a terminal. */
function isMemoryDevice(kind: Stats): boolean {
  return platform() === "linux" && kind.isCharacterDevice() && kind.rdev >> 8 === 1;
}

async function writeAll(fd: number, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    try {
      const rest = bytes.subarray(at);
      at += rest.length > SHORT_BYTES ? await writeSome(fd, rest) : writeSync(fd, rest);
    } catch (error) {
      // A pipe that somebody else has made non-blocking is full.
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
