import { execFile } from "node:child_process";
import { readdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { recipe } from "../support/recipe.ts";
import { sandboxShell } from "../support/sandbox-shell.ts";
import { quick } from "../support/shell.ts";
import { hasTool } from "../support/tools.ts";

it("the script for a Slurm job array, run once for each of its tasks, submits every row once", async () => {
  const { env, folder } = await sandboxShell();
  await writeFile(path.join(folder, "job.sh"), quick(await recipe("help/scale", "Slurm")));
  const rows = Array.from({ length: 10 }, (_, at) => `fox ${at}`);
  await writeFile(path.join(folder, "products.csv"), ["prompt", ...rows, ""].join("\n"));
  for (const SLURM_ARRAY_TASK_ID of ["1", "2", "3", "4"]) {
    const task = { SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT: "4", HOME: folder };
    await promisify(execFile)("bash", ["job.sh"], { cwd: folder, env: { ...env, ...task } });
  }
  const images = (await readdir(path.join(folder, "pictures"))).filter((name) => name.endsWith(".png"));
  expect(images).toHaveLength(rows.length);
});

it("groff reads the manual page without a warning", async (test) => {
  test.skip(!hasTool("groff"), "groff is not installed");
  const page = path.resolve(import.meta.dirname, "../../dist/imggen.1");
  const { stdout, stderr } = await promisify(execFile)("groff", ["-man", "-Tutf8", "-ww", page]);
  expect(stderr).toBe("");
  expect(stdout).toContain("Generate an image from a prompt and save it.");
});
