import { readdirSync, readFileSync, statSync } from "node:fs";
import path from "node:path";
import { sha256 } from "../support/images.ts";
import type { Place } from "./scenarios.ts";
import type { CrashWorld } from "./world.ts";

/** What a task file's whole lines say. */
export interface LedgerTask {
  file: string;
  /** Type of the record that decides; `stub` where not even the intent is whole. */
  last: string;
  /** The provider's names for its jobs, as far as they are known. */
  ids: string[];
  /** What was asked for; null in a stub. */
  prompt: string | null;
  /** imggen's own name for it; null where the provider's is shown. */
  ownId: string | null;
  /** Type of the last record about each of its requests. */
  states: string[];
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

interface LedgerRecord {
  type: string;
  taskId?: string;
  request?: number | { prompt: string };
  work?: { taskId: string; requests: number };
}

/** Every task file of the ledger, wherever it lies. Read by hand: the program's own reader is on trial. */
export function ledgerTasks({ home }: CrashWorld): LedgerTask[] {
  const names = filesBelow(home).filter((name) => name.endsWith(".jsonl"));
  return names.map((name) => {
    const records = readFileSync(path.join(home, name), "utf8").split("\n").slice(0, -1).flatMap(parseLine);
    const [intent] = records;
    const steps = records.filter(({ type }) => type !== "released");
    const saves = steps.filter(({ type }) => type === "saved").length;
    const states = Array.from({ length: intent?.work?.requests ?? 1 }, (_, request) => {
      const own = steps.filter((step) => !/saved$/.test(step.type) && (step.request ?? 0) === request);
      return own.at(-1)?.type ?? intent?.type ?? "stub";
    });
    return {
      file: name,
      last: saves > 0 ? "saved" : (steps.at(-1)?.type ?? "stub"),
      states,
      ids: records.flatMap(({ type, taskId }) => (type === "accepted" && taskId ? [taskId] : [])),
      prompt: typeof intent?.request === "object" ? intent.request.prompt : null,
      ownId: intent?.work?.taskId ?? null,
      saves,
    };
  });
}

function parseLine(line: string): LedgerRecord[] {
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
