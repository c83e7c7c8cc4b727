import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect } from "vitest";
import { addToCount } from "./count.ts";

/** How every API key of a test begins. Where this turns up in what the program wrote, a key has leaked. */
const MARK = "sk-canary-";

/** The API key of every run, where a test needs no other. */
export const CANARY = `${MARK}5f3e9a7c1b8d2046`;

/** Fails where a run of the program shows a key on standard output or standard error. */
export function expectNoKeyShown(run: { stdout: string; stderr: string }): void {
  addToCount("runs", 1);
  const shown = Object.entries(run).filter(([, text]) => typeof text === "string" && text.includes(MARK));
  expect(shown, "a key was shown").toEqual([]);
}

/** Fails where a key is in any file below a folder, or in a file's name. The settings may hold it. */
export function expectNoKeyBelow(folder: string): void {
  expect(filesWithKey(folder), "files that hold a key").toEqual([]);
}

/**
 * The files below a folder that hold a key, or have one in their name. The settings may. They are small, and there are
 * thousands: to wait for a thread for each takes several times as long as to read it.
 */
export function filesWithKey(folder: string): string[] {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const found: string[] = [];
  for (const entry of entries) {
    const file = path.join(entry.parentPath, entry.name);
    if (entry.name.includes(MARK)) found.push(file);
    if (!entry.isFile() || entry.name === "config.json") continue;
    if (readFileSync(file).includes(MARK)) found.push(file);
  }
  addToCount("files", entries.length);
  return found;
}
