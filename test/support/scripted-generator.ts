import { writeFile } from "node:fs/promises";
import path from "node:path";
import {
  type GeneratedImage,
  type Generator,
  GeneratorError,
  type GeneratorFailure,
  type GeneratorJob,
  type JobDeps,
} from "../../src/providers/generator.ts";
import { png } from "./images.ts";

/** What becomes of a request: `number` counts all requests, from 1. */
export type Answer = (job: GeneratorJob, deps: JobDeps, number: number) => Promise<GeneratedImage>;

export interface ScriptedGenerator extends Generator {
  /** The requests that it was sent, in their order. */
  readonly jobs: readonly GeneratorJob[];
  /** The most requests that were open at once. */
  readonly mostOpen: number;
  recover: Generator["recover"];
}

/** A generator of the test's own. Without a script it makes every image at once. */
export function scriptedGenerator(answer: Answer = (job) => drawn(job)): ScriptedGenerator {
  const jobs: GeneratorJob[] = [];
  let [open, mostOpen] = [0, 0];
  return {
    jobs,
    get mostOpen() {
      return mostOpen;
    },
    async generate(job, deps) {
      jobs.push(job);
      open += 1;
      mostOpen = Math.max(mostOpen, open);
      return answer(job, deps, jobs.length).finally(() => {
        open -= 1;
      });
    },
    recover: async () => null,
    models: async () => null,
    close: async () => {},
  };
}

/** Makes a picture of 8 × 6 pixels. */
export async function drawn(
  { folder, index }: GeneratorJob,
  usage: GeneratedImage["usage"] = null,
): Promise<GeneratedImage> {
  const file = path.join(folder, "image.png");
  await writeFile(file, png(index));
  return { file, usage };
}

/** Fails as a generator does. */
export function failing(failure: GeneratorFailure | GeneratorFailure["kind"], words = "no"): Promise<never> {
  const known: Record<GeneratorFailure["kind"], GeneratorFailure> = {
    unreachable: { kind: "unreachable" },
    account: { kind: "account", key: "login_required" },
    busy: { kind: "busy", retryAfterMs: null },
    refused: { kind: "refused" },
    lost: { kind: "lost" },
  };
  return Promise.reject(new GeneratorError(words, typeof failure === "string" ? known[failure] : failure));
}

/** Runs until it is given up. */
export function endless({ signal }: JobDeps): Promise<never> {
  return new Promise((_resolve, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}
