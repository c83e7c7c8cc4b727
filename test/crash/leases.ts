import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { filesBelow } from "./disk.ts";
import type { CrashWorld } from "./world.ts";

/** Ends every lease, as time does while its process is stopped. */
export function expireLeases(world: CrashWorld): void {
  rewriteState(world, /"until":\d+/g, '"until":1');
}

/** Makes every lease one of a process on another machine, of which nobody here can tell whether it is alive. */
export function moveLeases(world: CrashWorld): void {
  rewriteState(world, /"(host|scope)":"[^"]*"/g, '"$1":"elsewhere"');
}

/** Changes the text of every file of the state folder. */
function rewriteState({ home }: CrashWorld, from: RegExp, to: string): void {
  const state = path.join(home, "state");
  for (const name of filesBelow(state)) {
    const file = path.join(state, name);
    const text = readFileSync(file, "latin1");
    if (from.test(text)) writeFileSync(file, text.replace(from, to), "latin1");
  }
}
