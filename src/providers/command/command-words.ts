import path from "node:path";
import {
  fillPlaceholders,
  findShellOperator,
  isInShellScript,
  splitProgramCommand,
} from "../../lib/command-line.ts";
import { editDistance } from "../../lib/edit-distance.ts";
import { UsageError } from "../../lib/error-types.ts";
import type { WholeNumber } from "../../lib/exact-integer.ts";
import { action, phrase } from "../../lib/wording.ts";
import { requestedSize, type Size } from "../../models/requested-size.ts";
import { fieldTexts } from "../../task/request.ts";
import type { Job } from "../provider.ts";
import type { LocalReference } from "../reference-files.ts";
import { chosenSeed, requestedSeed } from "../seeds.ts";

const PLACEHOLDERS: readonly string[] = [
  "promptFile",
  "prompt",
  "model",
  "width",
  "height",
  "seed",
  "negative",
  "image",
  "output",
];

/** @param label name of the option in messages @throws UsageError if the command is invalid */
export function parseGeneratorCommand(text: string, label: string): readonly string[] {
  const words = splitProgramCommand(text);
  if (typeof words === "string") throw refused(`${label} cannot be read: ${words}`);
  const problem = findProblem(words);
  if (problem !== null) throw refused(`${label} ${problem}`);
  return words;
}

/** Returns the first problem of a command as a phrase such as "has no {output}", or null. */
function findProblem(words: readonly string[]): string | null {
  const [program = ""] = words;
  const misspelt = namesIn(words).find((name) => isSpelledOddly(name));
  if (misspelt !== undefined) return `contains {${misspelt}}: write {${nearest(misspelt)}}`;
  const lacks = (placeholder: string, what: string) => {
    const near = namesIn(words).find((name) => nearest(name).startsWith(placeholder));
    return near === undefined ? what : `contains {${near}}, probably instead of {${nearest(near)}}`;
  };
  if (!hasPlaceholder(words, "output"))
    return lacks("output", "has no {output}, the placeholder for the path of the image");
  if (!hasPlaceholder(words, "promptFile") && !hasPlaceholder(words, "prompt"))
    return lacks("prompt", "has no {promptFile}, the placeholder for the path of a file with the prompt");
  const operator = findShellOperator(words);
  if (operator !== undefined)
    return `contains ${operator}, but the command runs without a shell: put the steps into a script, with the placeholders as its arguments`;
  if (isInShellScript("{prompt}", words))
    return "puts {prompt} inside a shell script, where it could be run as code: use {promptFile}";
  if (/[\\/]/.test(program) && !path.isAbsolute(program))
    return `names the program by a relative path, ${program}, but the command runs in another folder: use the absolute path`;
  return null;
}

function hasPlaceholder(words: readonly string[], name: string): boolean {
  return words.some((word) => word.includes(`{${name}}`));
}

export function hasPrompt(words: readonly string[]): boolean {
  return hasPlaceholder(words, "prompt");
}

export function hasModel(words: readonly string[]): boolean {
  return hasPlaceholder(words, "model");
}

/** Returns the names in braces that are not placeholders. */
function namesIn(words: readonly string[]): string[] {
  const names = [...words.join(" ").matchAll(/\{([\w-]+)\}/g)].map(([, name = ""]) => name);
  return names.filter((name) => !PLACEHOLDERS.includes(name));
}

const normalizeName = (name: string) => name.replace(/[\W_]/g, "").toLowerCase();

/** Whether a name differs from a placeholder only in letter case or punctuation: `{prompt-file}`, `{OUTPUT}`. */
function isSpelledOddly(name: string): boolean {
  return PLACEHOLDERS.some((each) => normalizeName(each) === normalizeName(name));
}

const MAX_TYPOS = 2;

/** Returns the placeholder that is most similar to a name; empty if no placeholder is similar. */
function nearest(name: string): string {
  const distanceTo = (each: string) => editDistance(normalizeName(name), normalizeName(each));
  const candidates = PLACEHOLDERS.filter((each) => distanceTo(each) <= Math.min(MAX_TYPOS, each.length - 3));
  return candidates.sort((a, b) => distanceTo(a) - distanceTo(b))[0] ?? "";
}

function refused(message: string): UsageError {
  return new UsageError(`${message}.`, {
    hint: [
      "For example: command:/home/ada/bin/paint {promptFile} {width} {height} {output}.",
      phrase`More: ${action("help", "command")}`,
    ],
  });
}

interface CommandFiles {
  promptFile: string;
  output: string;
  images: readonly string[];
  /** null if the size is not known yet. */
  size: Size;
}

/** Placeholder of a reference image. A word with this placeholder is repeated for each image of the job. */
export const IMAGE = "{image}";

export function filledCommand(words: readonly string[], job: Job, files: CommandFiles): string[] {
  const { images, size, ...paths } = files;
  const { model, fields } = job.options;
  const values = {
    negative: "",
    ...fieldTexts(fields),
    ...paths,
    prompt: job.request.prompt,
    model: model ?? "",
    width: String(size?.width ?? "<width>"),
    height: String(size?.height ?? "<height>"),
    seed: String(fields.seed ?? chosenSeed(job)),
  };
  return words.flatMap((word) => {
    if (!word.includes(IMAGE)) return fillPlaceholders([word], values);
    return images.flatMap((image) => fillPlaceholders([word], { ...values, image }));
  });
}

/** Returns null if the command has no `{seed}` or the user's value is not a seed. */
export function seedIn(words: readonly string[], job: Job): WholeNumber | null {
  if (!hasPlaceholder(words, "seed")) return null;
  return Object.hasOwn(job.options.fields, "seed") ? requestedSeed(job) : chosenSeed(job);
}

/** Shows texts such as `<seed>` in place of the files and a random seed. */
export function shownCommand(
  words: readonly string[],
  job: Job,
  images: readonly Pick<LocalReference, "standIn">[],
): string[] {
  const fields = { seed: "<seed>", ...job.options.fields };
  const files = { promptFile: "<file with the prompt>", output: "<file for the image>" };
  const imageNames = images.map((image) => image.standIn ?? "<file>");
  const size = requestedSize(job);
  return filledCommand(
    words,
    { ...job, options: { ...job.options, fields } },
    { ...files, images: imageNames, size },
  );
}

export function findUnsupported(
  { references, options: { model, fields } }: Pick<Job, "references" | "options">,
  words: readonly string[],
): string | null {
  if (references.length > 0 && !hasPlaceholder(words, "image"))
    return `The command does not support reference images: write ${IMAGE} where their files belong.`;
  if (model !== null && !hasModel(words))
    return "The command does not support a model: write {model} where its name belongs.";
  // A name that is similar to a placeholder is not a mistake if a field of the user has this name.
  const misspelt = namesIn(words).find((name) => !Object.hasOwn(fields, name) && nearest(name) !== "");
  if (misspelt !== undefined)
    return `The command contains {${misspelt}}, but no such field exists. Did you mean {${nearest(misspelt)}}?`;
  const unsupported = Object.keys(fields).find((name) => !hasPlaceholder(words, name));
  if (unsupported === undefined) return null;
  return `The command does not support the field ${unsupported}: write {${unsupported}} where its value belongs.`;
}
