import { constants } from "node:fs";
import { access, chmod, lstat, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { isPresent, syncFolder } from "../../lib/durable.ts";
import { errorText } from "../../lib/error-text.ts";
import { UsageError } from "../../lib/error-types.ts";
import { type Generator, type GeneratorDeps, GeneratorError, type GeneratorJob } from "../generator.ts";
import { type ReferenceDeps, referenceFiles } from "../reference-files.ts";
import type { GeneratorOptions } from "../spec.ts";
import { filledCommand, IMAGE } from "./command-words.ts";
import { endLeftProcess, runCommand } from "./run-command.ts";

/** The working folder of a command, in its job's folder. It is gone when the command has ended. */
const SCRATCH = "scratch";

/** What is being killed may still write. */
const SCRATCH_IS_GONE = { recursive: true, force: true, maxRetries: 5 };

/** The image of a command that ended well, in its job's folder. */
const MADE = "image";

/** Makes images with a program of the user's. @throws UsageError for a field that the command has no place for */
export function commandGenerator(
  words: readonly string[],
  { fields, timeoutMs, isPaid }: GeneratorOptions,
  deps: GeneratorDeps,
): Generator {
  requirePlaces(fields, words);
  return {
    async generate(job, { signal }) {
      const cwd = path.join(job.folder, SCRATCH);
      await rm(cwd, SCRATCH_IS_GONE);
      await mkdir(cwd, { mode: 0o700 });
      try {
        const promptFile = path.join(cwd, "prompt.txt");
        await writeFile(promptFile, job.prompt);
        const output = path.join(cwd, "output.png");
        const images = await imagesOf(job, words, cwd, { ...deps, signal });
        const filled = filledCommand(words, job, { promptFile, output, images });
        await runCommand(filled, { env: deps.env, cwd, timeoutMs, isPaid, signal });
        return { file: await kept(output, path.join(job.folder, MADE)), usage: null };
      } finally {
        await rm(cwd, SCRATCH_IS_GONE);
      }
    },
    async recover({ folder }) {
      const scratch = path.join(folder, SCRATCH);
      endLeftProcess(scratch);
      await rm(scratch, SCRATCH_IS_GONE);
      const file = path.join(folder, MADE);
      return isPresent(file) ? { file, usage: null } : null;
    },
    models: () => noModels(words, deps.env.PATH),
    close: async () => {},
  };
}

/** @throws UsageError */
function requirePlaces(fields: GeneratorOptions["fields"], words: readonly string[]): void {
  const stray = Object.keys(fields).find(
    (name) => name !== "seed" && !words.some((word) => word.includes(`{${name}}`)),
  );
  if (stray === undefined) return;
  throw new UsageError(`The generator's command has no place for the field ${stray}.`, {
    hint: `Write {${stray}} where its value belongs. More: imggen help generators`,
  });
}

/** A command has no models. @throws GeneratorError if its program cannot be started */
async function noModels([program = ""]: readonly string[], searchPath: string | undefined): Promise<null> {
  await findProgram(program, searchPath).catch((error) => {
    const message = `The command cannot be started: ${program}: ${errorText(error)}.`;
    throw new GeneratorError(message, { kind: "unreachable" }, { cause: error });
  });
  return null;
}

/** The files of a job's reference images. @throws GeneratorError */
async function imagesOf(
  job: GeneratorJob,
  words: readonly string[],
  folder: string,
  deps: Omit<ReferenceDeps, "generatorUrl">,
): Promise<string[]> {
  if (job.references.length === 0) return [];
  if (!words.some((word) => word.includes(IMAGE)))
    throw new GeneratorError(`The command takes no reference images: there is no ${IMAGE} in it.`, {
      kind: "refused",
    });
  // A program of this machine may be given what this machine can reach.
  const generatorUrl = new URL("http://localhost");
  const files = await referenceFiles(job, path.join(folder, "reference"), { ...deps, generatorUrl });
  return files.map(({ file }) => file);
}

/**
 * Gives an image its place outside the scratch folder, once it is on disk to its last byte.
 * @throws GeneratorError if there is none
 */
async function kept(output: string, file: string): Promise<string> {
  const stats = await lstat(output).catch(() => null);
  if (stats === null || !stats.isFile() || stats.size === 0)
    throw new GeneratorError("The command exited with code 0, but wrote no image to {output}.", {
      kind: "refused",
    });
  await chmod(output, 0o600);
  const opened = await open(output, "r+");
  await opened.sync().finally(() => opened.close());
  await rename(output, file);
  await syncFolder(path.dirname(file));
  return file;
}

/**
 * Checks that a program can be started: by its path, or in one of the folders of PATH. Windows finds programs by rules
 * of its own, and is not asked.
 * @throws the system's error
 */
async function findProgram(program: string, searchPath: string | undefined): Promise<void> {
  if (platform() === "win32") return;
  const folders = program.includes("/") ? [""] : (searchPath ?? "").split(path.delimiter);
  let problem: unknown;
  for (const folder of folders) {
    try {
      return await access(path.join(folder, program), constants.X_OK);
    } catch (error) {
      problem = error;
    }
  }
  throw problem;
}
