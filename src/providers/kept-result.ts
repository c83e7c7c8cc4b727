import { readFileSync } from "node:fs";
import path from "node:path";
import { errorCode } from "../lib/error-text.ts";
import { replaceWhole } from "../lib/write-whole.ts";
import type { Job, UnreadResult } from "./provider.ts";

function resultFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "result");
}

/** Keeps the result of a finished job in its folder, which exists. @throws the disk's error */
export function keepResult(job: Pick<Job, "folder">, result: UnreadResult): Promise<void> {
  return replaceWhole(resultFile(job), JSON.stringify(result), 0o600);
}

/** @returns null if nothing is kept @throws Error if it cannot be read */
export async function keptResult(job: Pick<Job, "folder">): Promise<UnreadResult | null> {
  try {
    return JSON.parse(readFileSync(resultFile(job), "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}
