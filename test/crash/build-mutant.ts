import { cp } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type InputOptions, type Plugin, rolldown } from "rolldown";
import { findPlace } from "./find-place.ts";

/**
 * A change to a source file, its path below `src`: a text that occurs there exactly once, however it is spaced and
 * broken into lines, and another for it.
 */
export interface Edit {
  file: string;
  find: string;
  replace: string;
}

const ROOT = path.resolve(import.meta.dirname, "../..");

/** The program that is on trial: the one that was built. */
export const BUILT = ROOT;

/** Builds the program with changes made on the way; the source stays as it is. @throws where an edit has no place */
export async function buildMutant(edits: readonly Edit[], folder: string): Promise<void> {
  const made = new Set<Edit>();
  const mutate = {
    name: "mutate",
    transform(code: string, id: string) {
      let changed = code;
      for (const edit of edits) {
        if (id !== path.join(ROOT, "src", edit.file)) continue;
        const { start, end } = findPlace(changed, edit.find);
        changed = changed.slice(0, start) + edit.replace + changed.slice(end);
        made.add(edit);
      }
      return changed === code ? null : { code: changed };
    },
  };
  const input = { main: path.join(ROOT, "src/cli/app/main.ts") };
  const { output: _output, ...options } = await buildOptions();
  const texts = options.plugins.filter(({ name }) => name === "raw-texts");
  const bundle = await rolldown({ ...options, input, plugins: [mutate, ...texts] });
  const names = { entryFileNames: "[name].cjs", chunkFileNames: "chunks/[name]-[hash].cjs" };
  await bundle.write({ dir: path.join(folder, "dist"), format: "cjs", ...names });
  await bundle.close();
  for (const edit of edits) if (!made.has(edit)) throw new Error(`${edit.file} is not a part of the program`);
  await cp(path.join(ROOT, "bin"), path.join(folder, "bin"), { recursive: true });
}

/** How the program itself is built. */
async function buildOptions(): Promise<InputOptions & { plugins: Plugin[]; output: unknown }> {
  const config = await import(pathToFileURL(path.join(ROOT, ".rolldown.config.js")).href);
  return config.default;
}
