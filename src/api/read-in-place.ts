import type { Socket } from "node:net";
import type { Open } from "./connect.ts";

/** As much as Node reads at once. */
const READ_BYTES = 64 * 1024;

/**
 * Opens a connection that is read into the same memory each time. By itself Node takes new memory for each read and
 * frees it late: a large download would spend half its time on page faults. Whoever takes what has just arrived, with
 * `read()` at the `readable` event, may use it until the listener returns. What nobody takes is copied and waits.
 */
export function readInPlace(open: Open): Socket {
  const memory = Buffer.allocUnsafeSlow(READ_BYTES);
  let arrived: Buffer | null = null;
  const socket = open({
    buffer: memory,
    callback(bytes): boolean {
      arrived = memory.subarray(0, bytes);
      socket.emit("readable");
      if (arrived === null) return true;
      const waiting = Buffer.from(arrived);
      arrived = null;
      return socket.push(waiting);
    },
  });
  const read = socket.read.bind(socket);
  socket.read = (size?: number) => {
    // What waits came before.
    const waiting = read(size);
    if (waiting !== null) return waiting;
    const chunk = arrived;
    arrived = null;
    return chunk;
  };
  return socket;
}
