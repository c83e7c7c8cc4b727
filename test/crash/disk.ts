import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import type { CrashWorld } from "./world.ts";

/** What a task file's whole lines say. */
export interface LedgerTask {
  file: string;
  /** Type of the record that decides; `stub` where not even the intent is whole. */
  last: string;
  taskId: string | null;
  /** What was asked for; null in a stub. */
  prompt: string | null;
  /** How many records say that it was saved. */
  saves: number;
}

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

/** Every task file of the ledger, wherever it lies. Read by hand: the program's own reader is on trial. */
export function ledgerTasks({ home }: CrashWorld): LedgerTask[] {
  const names = filesBelow(home).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => {
    const records = readFileSync(path.join(home, name), "utf8").split("\n").slice(0, -1).flatMap(parseLine);
    const taskId = records.find(({ type }) => type === "accepted")?.taskId ?? null;
    const saves = records.filter(({ type }) => type === "saved").length;
    const step = records.findLast(({ type }) => type !== "released");
    const last = saves > 0 ? "saved" : (step?.type ?? "stub");
    return { file: name, last, taskId, prompt: records[0]?.request?.prompt ?? null, saves };
  });
}

function parseLine(line: string): { type: string; taskId?: string; request?: { prompt: string } }[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

/** What lies in the ledger and is neither a task nor the reserve, such as claims. */
export function ledgerLeftovers({ home }: CrashWorld): string[] {
  const inLedger = filesBelow(home).filter((name) => name.split(path.sep).includes("tasks"));
  return inLedger.filter((name) => !name.endsWith(".jsonl") && path.basename(name) !== ".reserve");
}

/** The SHA-256 of every image that was charged, and where it belongs. */
export function ownImages({ service, scenario }: CrashWorld): Map<string, { taskId: string; place: string }> {
  const images = service.charges.flatMap((charge) =>
    service.images(charge.taskId).map((image, at) => {
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

/** The charges whose images are not all in the output folder, under whatever names. */
export function unsavedCharges(world: CrashWorld): Set<string> {
  const saved = new Set(savedDigests(world).values());
  const isSaved = (taskId: string) => world.service.images(taskId).every((image) => saved.has(sha256(image)));
  return new Set(world.service.charges.map(({ taskId }) => taskId).filter((taskId) => !isSaved(taskId)));
}
