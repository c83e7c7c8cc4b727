import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { keyFingerprint } from "../../src/lib/fingerprint.ts";
import { idTime } from "../../src/store/ledger-name.ts";
import { CANARY, type ProgramWorld } from "./program-world.ts";
import { LINES, linesOf } from "./records.ts";

/** Puts charged tasks into a world's ledger as dead processes left them: `task-0` is the oldest. */
export function plantTasks(world: ProgramWorld, count: number): void {
  const folder = path.join(world.home, "state", "tasks", "open");
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const service = { baseUrl: world.server?.baseUrl ?? "", keyId: keyFingerprint(CANARY) };
  const destination = {
    kind: "folder",
    folder: world.out,
    template: "{task}.{ext}",
    overwrite: false,
  } as const;
  const startMs = Date.now() - 3_600_000;
  for (let number = 0; number < count; number++) {
    const at = new Date(startMs + 10 * number).toISOString();
    const request = { prompt: `fox ${number}`, model: "gamma-image-2" };
    const id = `${idTime(Date.parse(at))}-${number.toString(16).padStart(8, "0")}`;
    const lines = linesOf(
      { ...LINES.intent, at, attempt: "1.0", request, service, destination },
      { ...LINES.accepted, at, taskId: `task-${number}` },
    );
    writeFileSync(path.join(folder, `${id}.jsonl`), lines, { mode: 0o600 });
  }
}
