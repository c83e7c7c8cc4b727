import path from "node:path";
import { systemClock } from "../../src/lib/clock.ts";
import { systemProcesses } from "../../src/lib/processes.ts";
import { Ledger } from "../../src/store/ledger.ts";
import { GENERATOR_KEY_ID } from "../../src/task/intent.ts";
import type { TaskEvent } from "../../src/task/lifecycle.ts";
import type { Work } from "../../src/task/work.ts";
import type { CommandWorld } from "./command-world.ts";
import { WORK } from "./records.ts";

/** What a task is that an ended process has left. */
export interface LeftTask {
  work?: Partial<Work>;
  prompt?: string;
  /** What it costs in all. */
  credits?: number | null;
  /** How its generator is named. */
  generator?: string;
}

/** Leaves a task at a generator in a world's ledger, in the state that these lines lead to; no process has it in hand. */
export async function leaveTask(
  { home, cwd }: Pick<CommandWorld, "home" | "cwd">,
  events: readonly TaskEvent[],
  { work = {}, prompt = "a fox", credits = null, generator = "openai:http://127.0.0.1:9/v1" }: LeftTask = {},
): Promise<string> {
  const ledger = new Ledger(path.join(home, "state"), systemClock, systemProcesses());
  const owned = await ledger.begin({
    request: { prompt, model: "flux" },
    service: { baseUrl: generator, keyId: GENERATOR_KEY_ID },
    credits,
    destination: { kind: "folder", folder: cwd, template: "{slug}.{ext}", overwrite: false },
    work: { ...WORK, ...work },
  });
  for (const event of events) await owned.file.record(event);
  await owned.release();
  return owned.record.id;
}
