import { cp } from "node:fs/promises";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { type InputOptions, type Plugin, rolldown } from "rolldown";
import { ROOT } from "../support/program.ts";
import { type Edit, edited } from "./operators.ts";

/** The program that is on trial: the one that was built. */
export const BUILT = ROOT;

const SOURCE = /[\\/]src[\\/].*\.ts$/;

/** Builds the program with changes made on the way; the source stays as it is. @throws where an edit has not one place */
export async function buildMutant(edits: readonly Edit[], folder: string): Promise<void> {
  const made = edits.map(() => 0);
  const mutate = {
    name: "mutate",
    transform: {
      // Else each of a thousand modules would cross over from the bundler to this plugin.
      filter: { id: SOURCE, code: new RegExp(edits.map(({ inside }) => lastPartOf(inside)).join("|")) },
      handler(code: string) {
        let changed = code;
        for (const [index, edit] of edits.entries()) {
          const { code: next, places } = edited(changed, edit);
          changed = next;
          made[index] = (made[index] ?? 0) + places;
        }
        return changed === code ? null : { code: changed };
      },
    },
  };
  const input = { main: path.join(ROOT, "src/cli/app/main.ts") };
  const { output: _output, ...options } = await buildOptions();
  const texts = options.plugins.filter(({ name }) => name === "raw-texts");
  const bundle = await rolldown({ ...options, input, plugins: [mutate, ...texts] });
  const names = { entryFileNames: "[name].cjs", chunkFileNames: "chunks/[name]-[hash].cjs" };
  await bundle.write({ dir: path.join(folder, "dist"), format: "cjs", ...names });
  await bundle.close();
  if (made.some((places) => places !== 1)) throw new Error(`places of the edits: ${made.join(", ")}`);
  await cp(path.join(ROOT, "bin"), path.join(folder, "bin"), { recursive: true });
}

function lastPartOf(name: string): string {
  return name.slice(name.lastIndexOf(".") + 1);
}

/** How the program itself is built. */
async function buildOptions(): Promise<InputOptions & { plugins: Plugin[]; output: unknown }> {
  const config = await import(pathToFileURL(path.join(ROOT, ".rolldown.config.js")).href);
  return config.default;
}
