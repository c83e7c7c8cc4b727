import { createHash } from "node:crypto";
import type { Job } from "./provider.ts";

/** A number that differs with every image and is the same when the same image is made again: 31 bits. */
export function seedOf({ taskId, index }: Pick<Job, "taskId" | "index">): number {
  const digest = createHash("sha256").update(`${taskId}:${index}`).digest();
  return digest.readUInt32BE() >>> 1;
}
