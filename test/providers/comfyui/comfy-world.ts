import { writeFile } from "node:fs/promises";
import path from "node:path";
import type { Clock } from "../../../src/lib/clock.ts";
import type { GeneratorOptions } from "../../../src/providers/kind.ts";
import { openProvider } from "../../../src/providers/kinds.ts";
import type { Job } from "../../../src/providers/provider.ts";
import { type ComfyGraph, type ComfyOptions, comfyDouble } from "../../support/comfyui.ts";
import { quickClock } from "../../support/quick-clock.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { ALONE, type JobParts, jobFor, OPTIONS, told } from "../job.ts";

export interface WorldOptions extends ComfyOptions {
  graph?: ComfyGraph | string | Buffer;
  options?: Partial<GeneratorOptions>;
  clock?: Clock;
}

/** A provider at a double of ComfyUI, with a workflow or without. */
export async function comfyWorld({ graph, options = {}, clock = quickClock, ...comfy }: WorldOptions = {}) {
  const double = await comfyDouble(comfy);
  const folder = await temporaryFolder();
  const file = path.join(folder, "fox.json");
  if (graph !== undefined)
    await writeFile(
      file,
      typeof graph === "string" || Buffer.isBuffer(graph) ? graph : JSON.stringify(graph),
    );
  const workflow = graph === undefined ? undefined : { path: file, label: "--workflow" };
  const open = (overrides: Partial<GeneratorOptions> = {}) =>
    openProvider(
      { kind: "comfyui", name: `comfyui:${double.url}`, url: double.url },
      { ...OPTIONS, workflow, ...options, ...overrides },
      { env: {}, proxies: undefined, clock, workflows: path.join(folder, "workflows") },
    );
  const provider = await open();
  const job = async (parts: JobParts = {}): Promise<Job> => {
    const prepared = await provider.prepare?.(null);
    const made = await jobFor({ ratio: "1:1", ...parts });
    return {
      ...made,
      options: { ...made.options, ...(prepared?.workflow && { workflow: prepared.workflow }) },
    };
  };
  return {
    double,
    provider,
    open,
    folder,
    file,
    job,
    prepare: () => provider.prepare?.(ALONE.signal),
    /** Submits a job. @returns what came of it */
    submit: async (parts: JobParts = {}) => {
      const made = await job(parts);
      const reply = await provider.submit(made, ALONE);
      return { job: made, reply, ...told(reply) };
    },
    /** What a job asks for that has no place. */
    problem: async (parts: JobParts = {}) => provider.check?.(await job(parts)) ?? null,
    /** The inputs of a node as they were sent last. */
    sent: (id: string) => double.submits.at(-1)?.prompt[id]?.inputs,
  };
}
