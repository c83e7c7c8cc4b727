import { readdirSync, readFileSync, statSync, utimesSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import type { Place } from "./scenarios.ts";
import type { CrashWorld } from "./world.ts";

/** Every file below a folder, by its path in it. */
export function filesBelow(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" }).sort();
  return names.filter((name) => statSync(path.join(folder, name), { throwIfNoEntry: false })?.isFile());
}

/** Both folders as they are, byte for byte: two listings are equal exactly where nothing has changed. */
export function listing({ home, out }: CrashWorld): string[] {
  return [home, out].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: "utf8" })
      .sort()
      .map((name) => `${name} ${fingerprint(path.join(folder, name))}`),
  );
}

function fingerprint(file: string): string {
  const entry = statSync(file);
  return entry.isFile() ? `${entry.mode.toString(8)} ${sha256(readFileSync(file))}` : "";
}

/** The folder of the ledger whose files say what may have been charged on a day. */
const SPENT = path.join("tasks", "spent");

/** The ledger's files that are no tasks, neither the reserve nor a day's spending, such as claims. */
export function ledgerLeftovers({ home }: CrashWorld): string[] {
  const inLedger = filesBelow(home).filter((name) => name.split(path.sep).includes("tasks"));
  return inLedger.filter(
    (name) => !name.endsWith(".jsonl") && path.basename(name) !== ".reserve" && !name.includes(SPENT),
  );
}

/** The submits that were announced as charges: `<task>.<request>` each. */
export function announcedCharges({ home }: CrashWorld): string[] {
  const names = filesBelow(home).filter((name) => name.includes(SPENT));
  return names.map((name) => path.basename(name).split(".").slice(0, 2).join("."));
}

/** How long ago processes were killed, as far as their files show it: longer than any tool waits before it tidies up. */
const AGE_MS = 2 * 24 * 3_600_000;

/** Makes what killed processes have left in the ledger old enough to be removed. No process may be alive. */
export function ageLeftovers(world: CrashWorld): void {
  const then = new Date(Date.now() - AGE_MS);
  for (const name of ledgerLeftovers(world)) utimesSync(path.join(world.home, name), then, then);
}

/** The SHA-256 of every image that was charged, and where it belongs. */
export function ownImages({ double, scenario }: CrashWorld): Map<string, { taskId: string; place: Place }> {
  const images = double.charges.flatMap((charge) =>
    charge.images.map((image, at) => {
      const place = { taskId: charge.taskId, place: scenario.place(charge, at + 1) };
      return [sha256(image), place] as const;
    }),
  );
  return new Map(images);
}

/** The SHA-256 of every file in the output folder, by its name. */
export function savedDigests({ out }: CrashWorld): Map<string, string> {
  return new Map(filesBelow(out).map((name) => [name, sha256(readFileSync(path.join(out, name)))]));
}

/** The names of the charges whose images are not all in the output folder, under whatever names. */
export function unsavedCharges(world: CrashWorld): Set<string> {
  const saved = new Set(savedDigests(world).values());
  const unsaved = world.double.charges.filter(
    ({ images }) => !images.every((each) => saved.has(sha256(each))),
  );
  return new Set(unsaved.map(({ taskId }) => taskId));
}

/** The names of the charges whose reply lies whole on the disk: nothing may lose their images any longer. */
export function keptCharges({ home, double }: CrashWorld): string[] {
  const replies = filesBelow(home).filter((name) => path.basename(name) === "reply");
  const bytes = replies.map((name) => readFileSync(path.join(home, name)));
  const kept = double.charges.filter(({ reply }) => bytes.some((each) => each.includes(reply)));
  return kept.map(({ taskId }) => taskId);
}
