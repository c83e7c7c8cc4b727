import { readFile } from "node:fs/promises";
import path from "node:path";
import { replaceWhole } from "../lib/write-whole.ts";
import type { Job, UnreadResult } from "./provider.ts";

function resultFile({ folder }: Pick<Job, "folder">): string {
  return path.join(folder, "result");
}

/** Keeps what a finished job was answered with, in its folder, which exists. @throws the disk's error */
export function keepResult(job: Pick<Job, "folder">, result: UnreadResult): Promise<void> {
  return replaceWhole(resultFile(job), JSON.stringify(result), 0o600);
}

/** @throws Error where nothing is kept, or what is kept cannot be read */
export async function keptResult(job: Pick<Job, "folder">): Promise<UnreadResult> {
  return JSON.parse(await readFile(resultFile(job), "utf8"));
}

/** Whether an address is no address, but the image itself. */
export function isInline(url: string): boolean {
  return /^data:/i.test(url);
}
