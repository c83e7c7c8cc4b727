import { readFile } from "node:fs/promises";
import path from "node:path";
import { build } from "rolldown";
import { expect, it } from "vitest";
import { runProgram } from "../../src/lib/run-program.ts";
import { isRunning } from "../support/some-processes.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

it("kills what has been asked to end where the process that has asked it ends before", async () => {
  const folder = await temporaryFolder();
  const file = path.join(folder, "pid");
  const built = path.join(folder, "run-program.js");
  const source = path.resolve(import.meta.dirname, "../../src/lib/run-program.ts");
  await build({
    input: source,
    platform: "node",
    output: { file: built, format: "esm" },
    logLevel: "silent",
  });
  const host = `
    const { runProgram } = await import(${JSON.stringify(built)});
    const { existsSync } = await import("node:fs");
    const stop = new AbortController();
    const script = "trap '' TERM; echo $$ > '${file}'; while :; do sleep 1; done";
    runProgram(["sh", "-c", script], { env: process.env, signal: stop.signal, graceMs: 60_000 });
    setInterval(() => { if (existsSync("${file}")) { stop.abort(); process.exit(3); } }, 100);
  `;
  const options = {
    env: { PATH: process.env.PATH },
    signal: new AbortController().signal,
    timeoutMs: 60_000,
  };
  const words = [process.execPath, "--input-type=module", "--eval", host];
  expect(await runProgram(words, options)).toMatchObject({ kind: "ended", code: 3 });
  const pid = Number(await readFile(file, "utf8"));
  await expect.poll(() => isRunning(pid)).toBe(false);
});
