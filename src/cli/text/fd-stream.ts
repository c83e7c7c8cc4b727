import { constants, fstatSync, openSync, type Stats, write, writeSync } from "node:fs";
import { platform } from "node:os";
import { errorCode } from "../../lib/error-text.ts";
import type { OutputStream } from "./output-stream.ts";

/** Smallest capacity of a pipe. Longer output is written asynchronously, because it might wait for the reader. */
const PIPE_CAPACITY_BYTES = 16 * 1024;
const BUSY_PIPE_PAUSE_MS = 5;

const NON_BLOCKING = constants.O_WRONLY | constants.O_NONBLOCK;

/** Opens a stream without Node's class, which takes 6 ms to set up. Returns null for a terminal or another device. */
export function fdStream(fd: 1 | 2): OutputStream | null {
  const stats = plainFileStats(fd);
  if (stats === null) return null;
  const writeNow = stats.isFIFO() ? nonBlockingWrite(fd) : writeSync;
  let pendingWrite: Promise<void> | null = null;
  let writtenBytes = 0;
  return {
    isPipe: stats.isFIFO() || stats.isSocket(),
    write(data, onDone) {
      const bytes = typeof data === "string" ? Buffer.from(data) : data;
      writtenBytes += bytes.length;
      const writeChunk = writtenBytes > PIPE_CAPACITY_BYTES ? writeAsync : writeNow;
      // The write starts synchronously, so that output is visible before the caller continues.
      const currentWrite =
        pendingWrite === null
          ? writeAll(fd, bytes, writeChunk)
          : pendingWrite.then(() => writeAll(fd, bytes, writeChunk));
      const notification = currentWrite.then(() => onDone(), onDone);
      pendingWrite = notification;
      notification.then(() => {
        if (pendingWrite === notification) pendingWrite = null;
      });
      return true;
    },
  };
}

/** @returns null for a terminal or another device */
export function plainFileStats(fd: number): Stats | null {
  try {
    const stats = fstatSync(fd);
    return stats.isFile() || stats.isFIFO() || stats.isSocket() || isMemoryDevice(stats) ? stats : null;
  } catch {
    return null;
  }
}

/** Memory devices, such as /dev/null, have the major number 1 on Linux. */
function isMemoryDevice(stats: Stats): boolean {
  return platform() === "linux" && stats.isCharacterDevice() && stats.rdev >> 8 === 1;
}

type Write = (fd: number, bytes: Uint8Array) => number | Promise<number>;

/**
 * Returns a function that writes asynchronously if the pipe is full, because a blocking write would delay signals. On
 * systems other than Linux, a pipe cannot be reopened as non-blocking, so the first 16 KiB can block.
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
      return writeAsync(fd, bytes);
    }
  };
}

async function writeAll(fd: number, bytes: Uint8Array, writeChunk: Write): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += await writeChunk(fd, bytes.subarray(at));
    } catch (error) {
      // EAGAIN means that the pipe is full and another process has made it non-blocking.
      if (errorCode(error) !== "EAGAIN") throw error;
      await new Promise((resolve) => setTimeout(resolve, BUSY_PIPE_PAUSE_MS));
    }
  }
}

function writeAsync(fd: number, bytes: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => {
    write(fd, bytes, (error, byteCount) => (error ? reject(error) : resolve(byteCount)));
  });
}
