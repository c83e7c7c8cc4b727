import type { IntentTerms } from "../../src/task/intent.ts";
import { GENERATOR_KEY_ID } from "../../src/task/intent.ts";
import type { Line } from "../../src/task/line.ts";
import type { CommandWorld } from "./command-world.ts";
import { leaveTask } from "./left-task.ts";
import { WORK } from "./records.ts";

/** What a task at a generator is that an ended process has left. */
interface GeneratorTask {
  work?: Partial<IntentTerms>;
  prompt?: string;
  /** What it costs in all. */
  credits?: number | null;
  /** How its generator is named. */
  generator?: string;
}

/** Leaves a task at a generator in a world's ledger, in the state that these lines lead to; no process has it in hand. */
export function leaveAtGenerator(
  { home, cwd }: Pick<CommandWorld, "home" | "cwd">,
  lines: readonly Line[],
  { work = {}, prompt = "a fox", credits = null, generator = "openai:http://127.0.0.1:9/v1" }: GeneratorTask,
): Promise<string> {
  const intent = {
    request: { prompt, model: "flux" },
    service: { baseUrl: generator, keyId: GENERATOR_KEY_ID },
    credits,
    destination: { kind: "folder", folder: cwd, template: "{slug}.{ext}", overwrite: false },
    ...WORK,
    ...work,
  } as const;
  return leaveTask(home, intent, [...lines, { type: "released", at: new Date().toISOString() }]);
}
