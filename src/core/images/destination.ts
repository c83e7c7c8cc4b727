import { promises } from "node:fs";
import { platform } from "node:os";
import path from "node:path";
import { UsageError } from "../../lib/error-types.ts";
import { MAX_EXTENSION } from "../../lib/image/format.ts";
import { isFolder } from "../../lib/read-file.ts";
import { option, phrase, type Wording } from "../../lib/wording.ts";
import type { Destination, SaveOptions } from "../../task/intent.ts";
import { DEFAULT_TEMPLATE, MAX_NAME_BYTES, pathProblem, requireTemplate } from "./file-name.ts";

interface DestinationOptions extends SaveOptions {
  /** `-` for standard output, a folder, or the exact path of a file. Default: the current folder. */
  output?: string | undefined;
  name?: string | undefined;
  /** Whether the file at an exact path is allowed to exist, because a continued task might have written it. */
  mayExist?: boolean;
  /** Makes a path absolute. @throws SaveFailedError if the path is relative and the working folder no longer exists */
  resolvePath: (file: string) => string;
}

export const CHOOSE_ANOTHER: Wording = phrase`Nothing was sent. Choose another ${option("output")}.`;

/**
 * Converts `--output` and `--name` to a destination. Does not change the disk.
 * @throws UsageError if a file exists at an exact path, or a name cannot be used on this platform
 */
export async function resolveDestination(
  options: DestinationOptions,
  osName: NodeJS.Platform = platform(),
): Promise<Destination> {
  const { output, name, overwrite, sidecar, mayExist = false, resolvePath } = options;
  const saveOptions: SaveOptions = { overwrite, ...(sidecar && { sidecar }) };
  requireTemplate(name);
  const template = name ?? DEFAULT_TEMPLATE;
  if (output === undefined) return { kind: "folder", folder: resolvePath("."), template, ...saveOptions };
  if (output === "-") return { kind: "stdout", folder: resolvePath("."), template, ...saveOptions };
  if (output.includes("\0")) throw new UsageError(phrase`${option("output")} contains a NUL character.`);
  const problem = pathProblem(output, osName);
  if (problem) {
    throw new UsageError(phrase`${option("output")} ${JSON.stringify(output)}: ${problem}.`, {
      hint: CHOOSE_ANOTHER,
    });
  }
  const target = resolvePath(output);
  if (/[/\\]$/.test(output) || isFolder(target))
    return { kind: "folder", folder: target, template, ...saveOptions };
  if (name !== undefined) {
    throw new UsageError(
      phrase`${option("name")} needs an output folder, but ${option("output")} ${output} is a file.`,
      {
        hint: phrase`To make it a folder, write ${option("output")} ${output}/`,
      },
    );
  }
  refuseLong(target);
  const destination = { kind: "file", path: target, ...saveOptions } as const;
  if (!mayExist) await requireFree(destination);
  return destination;
}

/**
 * Resolves `--output` for a command that prints a report on standard output; null if `--output` is not given.
 * @throws UsageError if the images would be written to standard output
 */
export async function resolveFileDestination(options: DestinationOptions): Promise<Destination | null> {
  if (options.output === "-")
    throw new UsageError(
      phrase`${option("output")} - is supported only by generate. Give a file or a folder.`,
    );
  return options.output === undefined ? null : resolveDestination(options);
}

/** @throws UsageError if several tasks would be saved to one file or to standard output */
export function requireFolderForSeveral(destination: Destination | null, tasks: number): void {
  if (tasks < 2 || destination === null || destination.kind === "folder") return;
  const name = destination.kind === "file" ? destination.path : "standard output";
  throw new UsageError(`${tasks} tasks cannot be saved to ${name}.`, {
    hint: phrase`Nothing was downloaded. Give a folder: ${option("output")} pictures/`,
  });
}

function refuseLong(target: string): void {
  // The longest extension is counted, because a name without an extension gets one when the image is saved.
  const name =
    path.extname(target) === "" ? `${path.basename(target)}${MAX_EXTENSION}` : path.basename(target);
  if (Buffer.byteLength(name) > MAX_NAME_BYTES) {
    throw new UsageError(phrase`${option("output")}: the file name is longer than ${MAX_NAME_BYTES} bytes.`);
  }
}

/** @throws UsageError if a file exists at an exact path and must not be replaced */
export async function requireFree(destination: Destination): Promise<void> {
  if (destination.kind !== "file") return;
  const { path: target, overwrite } = destination;
  const existing = await promises.lstat(target).catch(() => null);
  if (!existing) return;
  if (!overwrite) {
    throw new UsageError(`${target} exists already.`, {
      hint: [CHOOSE_ANOTHER, phrase`To replace it, add ${option("overwrite")}.`],
    });
  }
  const linkTarget = await promises.stat(target).catch(() => existing);
  if (!linkTarget.isFile())
    throw new UsageError(`${target} is not a regular file, so it is not overwritten.`);
}
