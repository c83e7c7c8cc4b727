import { readFile } from "node:fs/promises";
import path from "node:path";
import { replaceWhole } from "../lib/write-whole.ts";
import type { Job, UnreadResult } from "./provider.ts";

function resultFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "result");
}

/** Keeps the result of a finished job in its folder, which exists. @throws the disk's error */
export function keepResult(job: Pick<Job, "folder">, result: UnreadResult): Promise<void> {
  return replaceWhole(resultFile(job), JSON.stringify(result), 0o600);
}

/** @throws Error if nothing is kept, or it cannot be read */
export async function keptResult(job: Pick<Job, "folder">): Promise<UnreadResult> {
  return JSON.parse(await readFile(resultFile(job), "utf8"));
}

/** Whether a URL holds the image itself. */
export function isInline(url: string): boolean {
  return /^data:/i.test(url);
}
