import { constants } from "node:fs";
import { access, writeFile } from "node:fs/promises";
import { platform } from "node:os";
import path from "node:path";
import { errorText } from "../../lib/error-text.ts";
import { requestedSize } from "../../models/requested-size.ts";
import { runRequest } from "../failures.ts";
import type { GeneratorOptions, ProviderDeps } from "../kind.ts";
import { type Job, type Provider, ProviderError, type SubmitOptions, type SubmitReply } from "../provider.ts";
import { referenceFiles, shownContext } from "../reference-files.ts";
import { filledCommand, findUnsupported, hasPrompt, seedIn, shownCommand } from "./command-words.ts";
import { commandFailure, hasSucceeded, isCommandRunning, recoverCommand, runCommand } from "./run-command.ts";
import {
  clearScratch,
  extraImages,
  hasImage,
  imageFile,
  keepImage,
  makeScratch,
  OUTPUT,
  removeScratch,
  scratchFolder,
  tooLarge,
  untilTooLarge,
  writtenFile,
} from "./scratch.ts";

export interface CommandOptions extends Pick<GeneratorOptions, "concurrency" | "timeoutMs"> {
  /** Environment variables for the command, from `--generator-header`. */
  headers: Readonly<Record<string, string>>;
  /** Names of the environment variables with the providers' API keys, which are hidden from the command. */
  keyVariables: readonly string[];
}

export function commandProvider(
  words: readonly string[],
  { concurrency, timeoutMs, headers, keyVariables }: CommandOptions,
  deps: ProviderDeps,
): Provider {
  const closing = new AbortController();
  const variables = { hidden: keyVariables, headerVariables: headers };
  return {
    version: 1,
    supports: ["prompt", "model", "ratio", "image", "maxImages", "quality", "seed", "negative", "fields"],
    limits: { concurrency, submitMs: timeoutMs },
    isSizedByReference: true,
    check: (job) => findUnsupported(job, words),
    getSeed: (job) => seedIn(words, job),
    submit: (job, submitOptions) =>
      runRequest(
        (onSent) =>
          submitJob(words, job, { ...submitOptions, ...variables, onSent, killSignal: closing.signal }, deps),
        submitOptions.onSent,
      ),
    async describe(job) {
      const images = await referenceFiles(job, shownContext(deps, new URL("http://localhost")));
      return { command: shownCommand(words, job, images) };
    },
    recover: (job, { signal }) =>
      runRequest(async (hasStarted) => {
        hasStarted();
        return recoverCommand(job, signal, deps.clock);
      }),
    isAtWork: async (job) => hasImage(job) || isCommandRunning(job),
    async images(job) {
      if (!hasImage(job)) throw new Error("the saved image is missing");
      const extra = (await extraImages(job)).map((file) => ({ kind: "file", file, isExtra: true }) as const);
      return [{ kind: "file", file: imageFile(job) }, ...extra];
    },
    models: () => noModels(words, deps.env.PATH),
    close: async () => closing.abort(),
  };
}

interface RunOptions
  extends Pick<SubmitOptions, "signal" | "onSent">,
    Pick<Parameters<typeof runCommand>[1], "hidden" | "headerVariables"> {
  killSignal: AbortSignal;
}

/** If a run without an image might be charged, keeps the scratch folder with partial results. @throws ProviderError */
async function submitJob(
  words: readonly string[],
  job: Job,
  runOptions: RunOptions,
  deps: ProviderDeps,
): Promise<SubmitReply> {
  const scratch = scratchFolder(job);
  await makeScratch(scratch);
  let isKept = false;
  try {
    const filled = await wordsFor(words, job, runOptions.signal, deps);
    isKept = job.isPaid;
    const promptBytes = hasPrompt(words) ? Buffer.byteLength(job.request.prompt) : null;
    await run(filled, job, { ...runOptions, promptBytes }, deps);
    await clearScratch(job);
    return { outcome: "made", usage: null };
  } catch (error) {
    if (error instanceof ProviderError && error.failure.kind !== "lost") isKept = false;
    throw error;
  } finally {
    if (!isKept) await removeScratch(scratch);
  }
}

/** Writes the command's input files, and fills its placeholders. @throws ProviderError for a reference image */
async function wordsFor(
  words: readonly string[],
  job: Job,
  signal: AbortSignal,
  deps: ProviderDeps,
): Promise<string[]> {
  const scratch = scratchFolder(job);
  const promptFile = path.join(scratch, "prompt.txt");
  await writeFile(promptFile, job.request.prompt);
  // Reference images at local addresses are allowed, because the program runs on this machine.
  const context = { ...deps, signal, generatorUrl: new URL("http://localhost") };
  const images = await referenceFiles(job, context, scratch);
  const output = path.join(scratch, OUTPUT);
  const size = requestedSize(job, images[0]?.file);
  return filledCommand(words, job, { promptFile, output, images: images.map(({ file }) => file), size });
}

/** @throws ProviderError */
async function run(
  words: readonly string[],
  job: Job,
  { promptBytes, ...runOptions }: RunOptions & { promptBytes: number | null },
  deps: ProviderDeps,
): Promise<void> {
  const scratch = scratchFolder(job);
  const { aborted, reason: cause } = runOptions.signal;
  if (aborted) throw new ProviderError("The command was not started.", { kind: "unsent" }, { cause });
  const [over, watchEnd] = [new AbortController(), new AbortController()];
  const watching = untilTooLarge(scratch, deps.clock, watchEnd.signal).then(
    () => over.abort(),
    () => {},
  );
  const killSignal = AbortSignal.any([runOptions.killSignal, over.signal]);
  const end = await runCommand(words, { ...runOptions, killSignal, env: deps.env, cwd: scratch });
  watchEnd.abort();
  await watching;
  if (over.signal.aborted) throw tooLarge(job);
  const file = hasSucceeded(end) ? await writtenFile(scratch) : null;
  if (file === null) {
    const hidden = runOptions.hidden.filter(
      (name) => deps.env[name] && !Object.hasOwn(runOptions.headerVariables, name),
    );
    throw commandFailure(end, words[0] ?? "", { isPaid: job.isPaid, scratch, hidden, promptBytes });
  }
  await keepImage(file, job);
}

/** Only checks that the program can be started, because a command has no list of models. @throws ProviderError */
async function noModels([program = ""]: readonly string[], searchPath: string | undefined): Promise<null> {
  await findProgram(program, searchPath).catch((cause) => {
    const message = `The command cannot be started: ${program}: ${errorText(cause)}.`;
    throw new ProviderError(message, { kind: "unsent" }, { cause });
  });
  return null;
}

/** Does nothing on Windows, because Windows finds programs by different rules. @throws a file system error */
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
