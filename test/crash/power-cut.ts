import { linkSync, renameSync, rmSync, statSync, truncateSync } from "node:fs";
import path from "node:path";
import type { Operation } from "./operations.ts";

/** A file's bytes, under whatever names. */
interface Contents {
  /** How many of them a power cut leaves. */
  durable: number;
}

/**
 * Plays what a power cut may leave after the program was stopped: bytes that were not synced are gone, and
 * where `names` is true so is every change to a folder that was not synced since.
 * @param operations those since the last power cut
 */
export function cutPower(operations: readonly Operation[], names: boolean): void {
  const contents = new Map<string, Contents>();
  let pending: Operation[] = [];
  for (const operation of operations) {
    if (!operation.done) continue;
    follow(operation, contents);
    if (operation.name === "sync")
      pending = pending.filter(({ file }) => path.dirname(file) !== operation.file);
    if (isNameChange(operation)) pending.push(operation);
  }
  for (const [file, { durable }] of contents) truncateTo(file, durable);
  if (names) for (const operation of pending.reverse()) undo(operation);
}

/** Keeps account of which bytes are safe, and of the names they have or had. */
function follow({ name, file, from, creates, size, kept }: Operation, contents: Map<string, Contents>): void {
  const own = contents.get(file);
  if (kept && own) contents.set(kept, own);
  if (name === "open") contents.set(file, creates || !own ? { durable: creates ? 0 : size } : own);
  if (name === "sync" || name === "datasync") {
    if (own) own.durable = Math.max(own.durable, size);
  }
  const source = from === null ? undefined : contents.get(from);
  if (source) contents.set(file, source);
  // A handle goes by the name that it was opened under, even when that is gone: a new file takes it over.
}

function isNameChange({ name, creates }: Operation): boolean {
  return creates || ["mkdir", "link", "rename", "unlink"].includes(name);
}

function truncateTo(file: string, bytes: number): void {
  const entry = statSync(file, { throwIfNoEntry: false });
  if (entry?.isFile() && entry.size > bytes) truncateSync(file, bytes);
}

function undo({ name, file, from, kept }: Operation): void {
  if (name === "rename" && from !== null) renameSync(file, from);
  else if (name !== "unlink") rmSync(file, { recursive: true, force: true });
  if (kept !== null) linkSync(kept, file);
}
