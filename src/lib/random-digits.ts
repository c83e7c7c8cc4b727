import { randomBytes } from "node:crypto";

const DRAWN_AT_ONCE = 256;
const BYTES = 4;

let drawn = Buffer.alloc(0);

/** Eight random hexadecimal digits, different in every process. */
export function randomDigits(): string {
  // Asking the system for four bytes takes as long as for a thousand.
  if (drawn.length === 0) drawn = randomBytes(DRAWN_AT_ONCE * BYTES);
  const digits = drawn.toString("hex", 0, BYTES);
  drawn = drawn.subarray(BYTES);
  return digits;
}
