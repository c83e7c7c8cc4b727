import { createHash } from "node:crypto";
import path from "node:path";
import { replaceUnsynced } from "../../lib/write-whole.ts";
import type { Job } from "../provider.ts";

/** Version 8 of a UUID is for ids that are made by a rule of one's own (RFC 9562, section 5.8). */
const VERSION = 0x80;
const VARIANT = 0x80;

/**
 * The id of a job at ComfyUI, which its client chooses: a UUID in lower case, made from our task's id and the request's
 * number. So the server can be asked for the job after a crash, whether or not its reply was read.
 */
export function jobIdOf({ taskId, index }: Pick<Job, "taskId" | "index">): string {
  const bytes = createHash("sha256").update(`comfyui:${taskId}:${index}`).digest().subarray(0, 16);
  bytes[6] = VERSION | ((bytes[6] ?? 0) & 0x0f);
  bytes[8] = VARIANT | ((bytes[8] ?? 0) & 0x3f);
  const hex = bytes.toString("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Notes in a job's folder that the server can be asked for it, whatever arrives. Never throws. */
export function noteJob(id: string, { folder }: Pick<Job, "folder">): void {
  try {
    replaceUnsynced(path.join(folder, ".job"), id, 0o600);
  } catch {
    // Without the note the history calls the job lost. `resume` still asks the server for it.
  }
}
