import { mkdir } from "node:fs/promises";
import path from "node:path";
import type { Generator, GeneratorJob } from "../../src/providers/generator.ts";
import { openGenerator } from "../../src/providers/kinds.ts";
import type { GeneratorOptions, GeneratorSpec } from "../../src/providers/spec.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

/** What is set about a generator where a test says nothing. */
export const OPTIONS: GeneratorOptions = {
  model: null,
  sidePx: 1024,
  sizeForm: null,
  concurrency: 1,
  timeoutMs: 30_000,
  fields: {},
  headers: {},
  isPaid: false,
  key: null,
};

/** A generator as the program opens it. */
export function opened(
  spec: GeneratorSpec,
  options: Partial<GeneratorOptions> = {},
  env: Record<string, string | undefined> = { PATH: process.env.PATH },
): Promise<Generator> {
  return openGenerator(spec, { ...OPTIONS, ...options }, { env, proxies: undefined, clock: systemClock });
}

/** A job in a private folder of its own. */
export async function jobFor(given: Partial<GeneratorJob> = {}): Promise<GeneratorJob> {
  const folder = path.join(await temporaryFolder(), "job");
  await mkdir(folder, { mode: 0o700 });
  return {
    taskId: "task_1",
    index: 0,
    model: null,
    prompt: "a red fox",
    ratio: undefined,
    quality: undefined,
    width: 64,
    height: 48,
    references: [],
    fields: {},
    folder,
    ...given,
  };
}

/** Nothing gives the job up, and nobody follows it. */
export const ALONE = { signal: new AbortController().signal, onProgress: () => {} };
