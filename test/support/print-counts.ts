import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import type { Counted } from "./count.ts";

/** Runs around the whole suite: creates the folder for counters, and prints the sums at the end. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), "imggen-counts-"));
  project.provide("countsFolder", folder);
  return async () => {
    const sum = async (what: Counted) =>
      total(await readFile(path.join(folder, what), "utf8").catch(() => ""));
    const [runs, files, cases] = await Promise.all((["runs", "files", "cases"] as const).map(sum));
    process.stdout.write(
      `Searched for leaked API keys: ${runs} runs, ${files} files. Properties: ${cases} cases.\n`,
    );
    await rm(folder, { recursive: true });
  };
}

function total(lines: string): number {
  return lines.split("\n").reduce((sum, line) => sum + Number(line), 0);
}
