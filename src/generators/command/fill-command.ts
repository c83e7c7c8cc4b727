import { createHash } from "node:crypto";
import { filledWords } from "../../lib/command-line.ts";
import type { GeneratorJob } from "../generator.ts";

/** The files that a command is given. */
export interface CommandFiles {
  promptFile: string;
  /** Where its image goes. */
  output: string;
  /** Reference images. */
  images: readonly string[];
}

/** Stands for a reference image: a word with it is there once for each, and not at all without one. */
export const IMAGE = "{image}";

/** A command's words for a job. */
export function filledCommand(words: readonly string[], job: GeneratorJob, files: CommandFiles): string[] {
  const { images, ...paths } = files;
  const values = {
    ...textsOf(job.fields),
    ...paths,
    prompt: job.prompt,
    model: job.model ?? "",
    width: String(job.width),
    height: String(job.height),
    seed: seedOf(job),
  };
  return words.flatMap((word) => {
    if (!word.includes(IMAGE)) return filledWords([word], values);
    return images.flatMap((image) => filledWords([word], { ...values, image }));
  });
}

function textsOf(fields: GeneratorJob["fields"]): Record<string, string> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
}

/** The user's, or one that differs with every image and is the same when the same image is made again: 31 bits. */
function seedOf({ fields, taskId, index }: GeneratorJob): string {
  if (fields.seed !== undefined) return String(fields.seed);
  const digest = createHash("sha256").update(`${taskId}:${index}`).digest();
  return String(digest.readUInt32BE() >>> 1);
}
