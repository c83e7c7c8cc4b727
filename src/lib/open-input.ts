import { constants, createReadStream, fstatSync, openSync } from "node:fs";
import type { Readable } from "node:stream";

/** Windows has no such flag, and no file whose opening waits for another process. */
export const WITHOUT_WAITING = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/**
 * Opens an input file, which may be a named pipe or a terminal. Waiting for one of those must not block one of Node's
 * threads: a thread that waits for a writer cannot be stopped, and the process cannot exit before it ends.
 * @throws the system's error, here or while it is read
 */
export async function openInput(file: string): Promise<Readable> {
  const fd = openSync(file, WITHOUT_WAITING);
  const kind = fstatSync(fd);
  if (kind.isFIFO()) return new (await import("node:net")).Socket({ fd, readable: true, writable: false });
  if (kind.isCharacterDevice()) {
    const tty = await import("node:tty");
    if (tty.isatty(fd)) return new tty.ReadStream(fd);
  }
  return createReadStream("", { fd });
}
