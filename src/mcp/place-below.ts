import path from "node:path";
import { realFolder } from "../core/batch/row-files.ts";
import { outputNameProblem } from "../core/manifest/output-name.ts";
import { UsageError } from "../lib/error-types.ts";
import { isBelow } from "../lib/is-below.ts";

/**
 * Where a call's images go: the session's folder, or a file or folder below it.
 * @param folder absolute
 * @throws UsageError for a path that is outside, by its name or through a link
 */
export async function placeBelow(folder: string, output: string | undefined): Promise<string> {
  if (output === undefined) return `${folder}/`;
  const name = output === "" ? output : path.posix.normalize(output);
  const bare = name.replace(/(?<=.)\/$/, "");
  const problem = bare === "." ? null : outputNameProblem(bare);
  if (problem !== null) throw refused(output, problem, folder);
  const target = path.join(folder, bare);
  if (!isBelow(await realFolder(target), await realFolder(folder)))
    throw refused(output, "a link in it leads out of the output folder", folder);
  return /(?:^|\/)\.?$/.test(name) ? `${target}/` : target;
}

function refused(output: string, problem: string, folder: string): UsageError {
  return new UsageError(`output ${JSON.stringify(output)}: ${problem}.`, {
    hint: `Nothing was sent. Give a path relative to ${folder}, or omit output.`,
  });
}
